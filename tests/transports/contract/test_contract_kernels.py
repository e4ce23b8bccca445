"""Kernels that refuse an option of a socket, and connections that fail while they are opened."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from contract_scripts import HELLO, responding, response_bytes
from contract_server import Server
from contract_transports import Rig, fetch_once

from kubeproto import RawRequest, TransportError
from kubeproto.config import Connection
from kubeproto_asyncio import AsyncioTransport

Serve = Callable[..., Server]


def test_a_kernel_that_refuses_keep_alive_does_not_prevent_a_connection(
    rig: Rig, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[Any] = []

    class Stubborn(socket.socket):
        def setsockopt(self, *arguments: Any) -> None:
            if arguments[1] in (socket.SO_KEEPALIVE, socket.TCP_KEEPIDLE, socket.TCP_KEEPCNT):
                refused.append(arguments)
                raise OSError(92, "Protocol not available")
            super().setsockopt(*arguments)

    server = serve(responding(response_bytes()))
    if rig.loop == "trio":
        pytest.importorskip("trio")
        # trio creates its sockets from the standard library's class, whose method it keeps.
        monkeypatch.setattr("trio._socket._SocketType.setsockopt", _refusing(refused))
    else:
        monkeypatch.setattr(socket, "socket", Stubborn)
    assert fetch_once(rig, server).body == HELLO
    assert refused


def _refusing(refused: list[Any]) -> Callable[..., None]:
    def setsockopt(self: Any, *arguments: Any) -> None:
        refused.append(arguments)
        raise OSError(92, "Protocol not available")

    return setsockopt


@pytest.mark.parametrize("failure", [OSError, asyncio.CancelledError])
def test_closing_does_not_wait_for_a_connection_that_was_never_made(
    serve: Serve, failure: type[BaseException]
) -> None:
    server = serve(responding(response_bytes()))

    async def main() -> None:
        loop: Any = asyncio.get_running_loop()

        async def fail(make: Callable[[], object], sock: socket.socket) -> None:
            make()
            raise failure

        loop.create_connection = fail
        async with (
            asyncio.timeout(10),
            AsyncioTransport(Connection(server=f"http://127.0.0.1:{server.port}")) as transport,
        ):
            with pytest.raises((TransportError, asyncio.CancelledError)):
                async with transport.send(RawRequest("GET", "/")):
                    pass

    asyncio.run(main())
