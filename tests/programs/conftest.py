"""The example programs on two servers: the served simulator in `make test`, a real server in `make real`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest
import yaml
from program_rig import Site

import kubeproto_sim as sim
from kubeproto_serve import serving

PLUGIN = "realserver.fixtures"  # which `make real` loads


@contextmanager
def cluster_of(
    request: pytest.FixtureRequest, folders: pytest.TempPathFactory, name: str, *, watch_cache: bool
) -> Generator[Site]:
    """Yield the real server of that name, or a simulated one, with controllers and without nodes."""
    folder = folders.mktemp("programs", numbered=True)
    if request.config.pluginmanager.hasplugin(PLUGIN):
        real = request.getfixturevalue(name)
        document = yaml.safe_load(real.kubeconfig.read_text())
        document["current-context"] = "admin"
        yield Site(folder, yaml.safe_dump(document), real=True, compact=real.compact)
        return
    simulated = sim.Cluster(populated=True, controllers=True, modes=sim.Modes(watch_cache=watch_cache))
    with serving(simulated) as server:
        yield Site(folder, server.kubeconfig, real=False, compact=lambda: server.call(simulated.compact))


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Yield the server of most programs."""
    with cluster_of(request, tmp_path_factory, "real_server", watch_cache=True) as site:
        yield site


@pytest.fixture(scope="session")
def forgetful(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Yield a server without a watch cache: versions expire as soon as the history is compacted."""
    with cluster_of(request, tmp_path_factory, "uncached_server", watch_cache=False) as site:
        yield site


@pytest.fixture
def site(cluster: Site) -> Generator[Site]:
    """Yield that server in a namespace of its own."""
    with cluster.in_new_namespace() as site:
        yield site
