"""The pytest plugin of `make real`: control planes for the tests, and the distribution of tests.

Each worker has its own control planes, so that concurrent tests do not affect each other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

import pytest

from . import RealServer, start

# These tests take a minute or more, and begin first, so that no worker is left with one at the end.
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
    """Sort long tests first. A worker takes all tests of a file, which share their set-up."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def start_real_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[..., RealServer]]:
    """Return a function that starts control planes, which end with the session at the latest."""
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
    """Yield the control plane of all tests: objects of one test are visible to the next."""
    return start_real_server()


@pytest.fixture(scope="session")
def uncached_server(start_real_server: Callable[..., RealServer]) -> RealServer:
    """Yield a control plane without a watch cache: a compaction of etcd takes effect at once."""
    return start_real_server(watch_cache=False)
