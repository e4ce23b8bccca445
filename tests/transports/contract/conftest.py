"""The fixtures of the contract suite: a transport, servers to try it on, and a check that nothing leaks."""

from __future__ import annotations

import contextlib
import gc
import ssl
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from contract_certificates import Certificates, issue
from contract_server import Gate, Script, Server, ServerLoop
from contract_transports import Rig, rigs


@pytest.fixture(scope="session")
def servers() -> Generator[ServerLoop]:
    loop = ServerLoop()
    look_for_garbage()
    yield loop
    gc.unfreeze()
    loop.close()


@pytest.fixture(scope="session")
def certificates() -> Certificates:
    return issue()


@pytest.fixture
def serve(servers: ServerLoop) -> Generator[Callable[..., Server]]:
    """Start servers. At the end each connection must have been closed by the transport, at both ends."""
    sockets = open_sockets()
    started: list[Server] = []

    def serve(script: Script, context: ssl.SSLContext | None = None) -> Server:
        started.append(servers.serve(script, context))
        return started[-1]

    yield serve
    for server in started:
        try:
            server.until_idle()
        finally:
            server.stop()
    assert open_sockets() <= sockets, "a socket is left open"
    look_for_garbage()  # what was forgotten and not closed speaks up now, in this test


def look_for_garbage() -> None:
    """Collect it. What is left is in use, and the next search need not look at it again."""
    gc.collect()
    gc.freeze()


def open_sockets() -> set[str]:
    """The sockets that this process has open, by their inodes."""
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
