"""`AsyncioTransport`: requests over HTTP/1.1 on asyncio."""

from __future__ import annotations

import asyncio
import math
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from kubeproto import ConnectError, LocalProtocolError, RemoteProtocolError, TransportError
from kubeproto_h11 import (
    ConnectionPool,
    H11Response,
    RequestDriver,
    WebSocketStream,
    open_tunnel,
    request_name,
)
from kubeproto_h11.pool import Limits
from kubeproto_sockets import CONNECT_TIMEOUT, HANDSHAKE_TIMEOUT, TlsContexts

from ._asyncio_streams import AsyncioByteStream, AsyncioConnector, fail_at

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kubeproto.config import Connection
    from kubeproto.wire import RawRequest, UpgradeRequest


class AsyncioTransport:
    """Carries requests to a server, on connections that stay open until its context exits.

    It belongs to the event loop that runs when the first request is sent.
    """

    def __init__(self, connection: Connection, *, limits: Limits | None = None) -> None:
        self._connection = connection  # first, because the repr uses it when the following lines fail
        tls = TlsContexts(connection)
        connector = self._connector = AsyncioConnector()
        self._pool = ConnectionPool(
            lambda: _open_stream(connector, connection, tls),
            limits or Limits(),
            clock=_now,
            signal=asyncio.Event,
        )
        self._driver = RequestDriver(connection, self._pool, clock=_now)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; unfinished responses fail."""
        self._pool.close()
        await self._connector.close()

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[H11Response[AsyncioByteStream]]:
        """Send a request and wait for the head of its response.

        `timeout` limits the exchange, from the wait for a connection to the last byte of the response. `idle`
        limits the time between received bytes; before the head only if the request has no body.
        """
        _require_asyncio(self)
        if timeout is None:
            response = await self._driver.send(request, idle=idle)
        else:
            deadline = _now() + timeout
            async with fail_at(deadline, f"{request_name(request)}: no response within {timeout:g} s"):
                response = await self._driver.send(request, deadline, idle)
        try:
            yield response
        finally:
            self._driver.close_response(response)

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[WebSocketStream[AsyncioByteStream]]:
        """Open a WebSocket for exec, attach or port-forward; raise `ApiError` if the server refuses it.

        `timeout` limits the handshake, `idle` each later silence of the server, which also answers pings.
        """
        _require_asyncio(self)
        nonce = os.urandom(16)
        if timeout is None:
            websocket = await self._driver.upgrade(request, nonce, idle=idle)
        else:
            deadline = _now() + timeout
            async with fail_at(deadline, f"{request_name(request)}: no response within {timeout:g} s"):
                websocket = await self._driver.upgrade(request, nonce, deadline, idle)
        try:
            yield websocket
            await websocket.close()
        finally:
            self._driver.close_websocket(websocket)


async def _open_stream(
    connector: AsyncioConnector, connection: Connection, tls: TlsContexts
) -> AsyncioByteStream:
    """Connect to the server, perhaps through its proxy; every failure is a `ConnectError`."""
    host, port = connection.address
    try:
        async with fail_at(_now() + CONNECT_TIMEOUT, f"no response within {CONNECT_TIMEOUT:g} s"):
            stream = await connector.connect(host, port)
        try:
            handshake_deadline = _now() + HANDSHAKE_TIMEOUT
            async with fail_at(handshake_deadline, f"no handshake within {HANDSHAKE_TIMEOUT:g} s"):
                if (proxy_context := tls.proxy) is not None:
                    await stream.encrypt(proxy_context, host)
                if connection.tunnelled:
                    await open_tunnel(stream, connection, math.inf)
                if (server_context := tls.server) is not None:
                    await stream.encrypt(server_context, connection.tls_name)
        except BaseException:
            stream.close()
            raise
    except (TransportError, RemoteProtocolError) as error:
        raise ConnectError(f"no connection to {host}:{port}: {error}") from error
    return stream


def _now() -> float:
    return asyncio.get_running_loop().time()


def _require_asyncio(transport: AsyncioTransport) -> None:
    """Refuse another event loop with a clear message: asyncio's own does not name the cause."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise LocalProtocolError(
            f"{transport!r} needs asyncio, which is not running: call connect() inside the event loop"
            " that uses the client, or use kubeproto_trio under trio"
        ) from None
