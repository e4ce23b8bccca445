"""The pytest plugin of `make real`: control planes for the tests, and which tests a worker takes together.

Each worker has control planes of its own, so that no test meets what another one does at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

import pytest

from . import RealServer, start

# They take a minute or more, and begin first, so that no worker is left with one of them at the end.
LONG: Final = (
    "test_real_churn.py",
    "test_differences.py",
    "test_real_kubectl.py",
    "test_workload_differences.py",
    "test_owner_differences.py",
    "test_real_conversion.py",
    "test_real_workloads.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long tests first. A worker takes all tests of a file, which share what they set up."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def start_real_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[..., RealServer]]:
    """Start control planes in folders of their own; they end with the session, if not before."""
    started: list[RealServer] = []

    def start_one(*, watch_cache: bool = True, flags: tuple[str, ...] = ()) -> RealServer:
        folder = tmp_path_factory.mktemp("real", numbered=True)
        started.append(start(folder, watch_cache=watch_cache, flags=flags))
        return started[-1]

    yield start_one
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def real_server(start_real_server: Callable[..., RealServer]) -> RealServer:
    """The control plane that all tests share: what a test leaves there, the next one finds."""
    return start_real_server()


@pytest.fixture(scope="session")
def uncached_server(start_real_server: Callable[..., RealServer]) -> RealServer:
    """Another one without a watch cache: a compaction of etcd is felt at once."""
    return start_real_server(watch_cache=False)
