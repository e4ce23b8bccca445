"""The pytest plugin of `make real`: control planes for the tests of both folders."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest

from . import RealServer, start


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
