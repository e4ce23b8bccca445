"""The fixtures of the contract suite: a transport, servers to try it on, and a check that nothing leaks."""

from __future__ import annotations

import contextlib
import gc
import ssl
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from contract_certificates import Certificates, issue_certificates
from contract_server import Gate, Script, Server, ServerLoop
from contract_transports import Rig, rigs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The servers ask the kernel whether a transport has closed its connections.
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.needs("kernel:tcp_diag"))


@pytest.fixture(scope="session")
def servers() -> Generator[ServerLoop]:
    loop = ServerLoop()
    collect_garbage()
    yield loop
    gc.unfreeze()
    loop.close()


@pytest.fixture(scope="session")
def certificates() -> Certificates:
    return issue_certificates()


@pytest.fixture
def serve(servers: ServerLoop) -> Generator[Callable[..., Server]]:
    """Start servers. At the end each connection must have been closed by the transport, at both ends."""
    sockets = open_sockets()
    servers_of_test: list[Server] = []

    def serve(script: Script, context: ssl.SSLContext | None = None) -> Server:
        servers_of_test.append(servers.serve(script, context))
        return servers_of_test[-1]

    yield serve
    for server in servers_of_test:
        try:
            server.wait_until_idle()
        finally:
            server.stop()
    assert open_sockets() <= sockets, "a socket is left open"
    collect_garbage()  # Report objects that were dropped without being closed now, in this test.


def collect_garbage() -> None:
    """Collect garbage, and freeze the remaining objects: the next collection skips them."""
    gc.collect()
    gc.freeze()


def open_sockets() -> set[str]:
    """Return the sockets that this process has open, by their inodes."""
    sockets: set[str] = set()
    for file in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if (target := str(file.readlink())).startswith("socket:"):
                sockets.add(target)
    return sockets


@pytest.fixture
def gate(servers: ServerLoop) -> Gate:
    return servers.gate()


@pytest.fixture(params=rigs())
def rig(request: pytest.FixtureRequest) -> Rig:
    """Each transport in turn."""
    parameter: Any = request.param
    assert isinstance(parameter, Rig)
    return parameter
