"""`AsyncioTransport`: requests over HTTP/1.1 on asyncio. It moves bytes; what to do is decided elsewhere."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from kubeproto import LocalProtocolError
from kubeproto_h11 import Calling, ConnectionPool, IncomingResponse, WebSocketStream, named, upgrade
from kubeproto_h11.pool import Limits

from ._connection import AsyncioByteStream, AsyncioByteStreams, until
from ._dialling import dial
from ._tls import trust

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kubeproto.config import Connection
    from kubeproto.wire import Head, UpgradeRequest


class AsyncioTransport:
    """Carries requests to one server, on connections that it keeps until its context is left.

    It belongs to the event loop that runs when the first request is sent.
    """

    def __init__(self, connection: Connection, *, limits: Limits | None = None) -> None:
        self._connection = connection  # first, because the repr uses it when the following lines fail
        trusting = trust(connection)
        streams = self._streams = AsyncioByteStreams()
        self._pool = ConnectionPool(
            lambda: dial(streams, connection, trusting),
            limits or Limits(),
            clock=_now,
            signal=asyncio.Event,
        )
        self._calling = Calling(connection, self._pool, clock=_now)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; open responses break."""
        self._pool.close()
        await self._streams.close()

    @asynccontextmanager
    async def send(
        self, head: Head, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[IncomingResponse[AsyncioByteStream]]:
        """Send a request and wait for the head of its response.

        `timeout` bounds all of it, from the wait for a connection to the last byte of the response; `idle`
        each silence of the server, and the one before the head only where there is no body to send.
        """
        _check_loop(self)
        if timeout is None:
            incoming = await self._calling.begin(head, idle=idle)
        else:
            deadline = _now() + timeout
            async with until(deadline, f"{named(head)}: no response within {timeout:g} s"):
                incoming = await self._calling.begin(head, deadline, idle)
        try:
            yield incoming
        finally:
            self._calling.end(incoming)

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[WebSocketStream[AsyncioByteStream]]:
        """Make a WebSocket of a request to exec, attach or port-forward; an `ApiError` if that is refused.

        `timeout` bounds the handshake, `idle` each silence of the server after it, its responses to pings
        included.
        """
        _check_loop(self)
        asking = upgrade(request, os.urandom(16))
        if timeout is None:
            socket = await self._calling.upgrade(asking, idle=idle)
        else:
            deadline = _now() + timeout
            async with until(deadline, f"{named(request)}: no response within {timeout:g} s"):
                socket = await self._calling.upgrade(asking, deadline, idle)
        try:
            yield socket
            await socket.close()
        finally:
            self._calling.hang_up(socket)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _check_loop(transport: AsyncioTransport) -> None:
    """Refuse another event loop with a clear message: asyncio's own does not name the cause."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise LocalProtocolError(
            f"{transport!r} needs asyncio, which does not run here: call connect() inside of the event loop"
            " that uses the client, or take kubeproto_trio under trio"
        ) from None
