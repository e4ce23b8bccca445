"""A TCP proxy that resets connections, or lets them fall silent."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import trio

_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)  # SO_LINGER with a time of zero
_PIECE: Final = 16 * 1024


class Proxy:
    """Carries bytes between its clients and a port of this machine; TLS passes through."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.closed = False  # whether new connections are refused
        self._server = port
        self._open: set[_Carried] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Accept connections on `port`; all of them are closed at the end."""
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        self.port = listeners[0].socket.getsockname()[1]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, self._carry, listeners)
            yield
            nursery.cancel_scope.cancel()

    def disconnect(self) -> None:
        """Reset every connection at once."""
        for carried in self._open:
            if carried.client.socket.fileno() != -1:  # the connection may be closed already
                carried.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            carried.scope.cancel()

    def freeze(self) -> None:
        """Carry nothing more over the current connections, which stay open."""
        for carried in self._open:
            carried.frozen = True

    async def _carry(self, client: trio.SocketStream) -> None:
        if self.closed:
            await client.aclose()
            return
        carried = _Carried(client)
        self._open.add(carried)
        try:
            with carried.scope:
                async with (
                    client,
                    await trio.open_tcp_stream("127.0.0.1", self._server) as server,
                    trio.open_nursery() as nursery,
                ):
                    nursery.start_soon(carried.pump, client, server)
                    nursery.start_soon(carried.pump, server, client)
        except OSError:
            pass  # the server is down
        finally:
            self._open.discard(carried)


class _Carried:
    def __init__(self, client: trio.SocketStream) -> None:
        self.client = client
        self.scope = trio.CancelScope()
        self.frozen = False

    async def pump(self, source: trio.SocketStream, sink: trio.SocketStream) -> None:
        try:
            async for chunk in source:
                if self.frozen:
                    await trio.sleep_forever()
                await sink.send_all(chunk)
            if not self.frozen:
                await sink.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # One end is closed, so the other is closed too.
            self.scope.cancel()
