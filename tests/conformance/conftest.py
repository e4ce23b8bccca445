"""The same suite for two servers: the simulated server in `make test`, a real server in `make real`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asked_release import RELEASE

import kubeproto_sim as sim
from conformance.client import AGGREGATED, Client, fresh_namespace
from conformance.kinds import BAR, BAZ, FOO
from conformance.servers import Server, Simulated

PLUGIN = "realserver.fixtures"  # loaded by `make real`
OF_THE_SIMULATED = ("test_older_releases.py", "test_recordings.py", "test_sequences.py")
OF_BOTH = (
    "test_differences.py",
    "test_release_differences.py",
    "test_owner_differences.py",
    "test_workload_differences.py",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    left_out = OF_THE_SIMULATED if config.pluginmanager.hasplugin(PLUGIN) else OF_BOTH
    return True if collection_path.name in left_out else None


def served(request: pytest.FixtureRequest, name: str, *, watch_cache: bool) -> Server:
    """Yield a server with the kinds of the suite: the real server of that name, or a simulated server."""
    server: Server
    if request.config.pluginmanager.hasplugin(PLUGIN):
        from conformance.real import Real

        server = Real(request.getfixturevalue(name))
    else:
        server = Simulated(
            sim.Cluster(version=100, kubernetes=RELEASE, modes=sim.Modes(watch_cache=watch_cache))
        )
    client = Client(server)
    for definition in (FOO, BAR, BAZ):
        client.define(definition)
    # A kind is served a moment before it is discovered.
    client.poll_until(lambda: {"foos", "bars", "bazs"} <= discovered(client))
    return server


def discovered(client: Client) -> set[str]:
    """Return the kinds of the suite that both forms of discovery contain."""
    groups = {item["metadata"]["name"]: item for item in client.get("/apis", Accept=AGGREGATED)["items"]}
    versions = groups.get("suite.test", {}).get("versions", ())
    legacy = client.send("GET", "/apis/suite.test/v1")
    listed = legacy.json["resources"] if legacy.status == 200 else ()
    return {resource["resource"] for version in versions for resource in version["resources"]} & {
        resource["name"] for resource in listed
    }


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Yield the server that most tests share."""
    server = served(request, "real_server", watch_cache=True)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def bare_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Yield a server without a watch cache, where a version expires as soon as it is compacted."""
    server = served(request, "uncached_server", watch_cache=False)
    yield server
    server.stop()


@pytest.fixture
def client(server: Server) -> Client:
    """Return a client with its own namespace."""
    return fresh_namespace(server)


@pytest.fixture
def bare(bare_server: Server) -> Client:
    """Return a client of the server without a watch cache, with its own namespace."""
    return fresh_namespace(bare_server)
