"""`HttpxTransport`: requests over an `httpx.AsyncClient`, on asyncio and on trio."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, Self

import anyio
import httpx

from kubeproto import DeadlineExceeded, Headers, RawRequest
from kubeproto_sockets import CONNECT_TIMEOUT

from ._httpx_clients import make_async_client
from ._httpx_errors import HTTPX_ERRORS, translate_error
from ._httpx_requests import (
    RequestTrace,
    Timeouts,
    build_request,
    decode_headers,
    may_replay,
    request_name,
    websocket_unsupported_error,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from kubeproto.config import Connection
    from kubeproto.wire import UpgradeRequest


class HttpxTransport:
    """Carries requests over an `httpx.AsyncClient`: yours, with its `base_url`, or one for a connection.

    Your client stays open when the transport is closed, and its settings apply: its headers, its limits (100
    connections by default), its authentication. Redirects are never followed.
    """

    def __init__(self, over: Connection | httpx.AsyncClient) -> None:
        self._owned = not isinstance(over, httpx.AsyncClient)
        self._compression = isinstance(over, httpx.AsyncClient) or over.compression
        self._client = over if isinstance(over, httpx.AsyncClient) else make_async_client(over)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the idle connections. A response that is still being read is closed by its reader."""
        if self._owned:
            with anyio.CancelScope(shield=True):
                await self._client.aclose()

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[HttpxResponse]:
        """Send a request and wait for the head of its response."""
        deadline = math.inf if timeout is None else anyio.current_time() + timeout
        timeouts: Timeouts = {"connect": CONNECT_TIMEOUT, "read": None, "write": None, "pool": None}
        response = await self._open(request, timeouts, deadline, None if request.body else idle)
        # httpcore reads this again when the body begins.
        timeouts["read"] = idle
        incoming = HttpxResponse(response, request_name(request), deadline)
        try:
            yield incoming
        finally:
            await incoming.aclose()

    def upgrade(self, request: UpgradeRequest, **_: float | None) -> NoReturn:
        """Raise `LocalProtocolError`: for WebSockets use kubeproto_trio or kubeproto_asyncio."""
        raise websocket_unsupported_error(request)

    async def _open(
        self, request: RawRequest, timeouts: Timeouts, deadline: float, idle: float | None
    ) -> httpx.Response:
        trace = RequestTrace(request)
        scope = anyio.CancelScope()

        async def record(name: str, info: Mapping[str, Any]) -> None:
            trace.record(name, info)
            if name.endswith(".receive_response_headers.started"):
                # The complete head must arrive in this time; httpx would restart the timeout with each byte.
                # A proxy's response to CONNECT is part of connecting.
                seconds = CONNECT_TIMEOUT if info["request"].method == b"CONNECT" else idle
                head_deadline = math.inf if seconds is None else anyio.current_time() + seconds
                scope.deadline = min(deadline, head_deadline)

        outcome: httpx.Response | Exception | None = None  # None after the deadline
        httpx_request = build_request(self._client, request, timeouts, record, compression=self._compression)
        if request.body:
            httpx_request.stream = _Body(request.body)
        with scope:
            scope.deadline = deadline
            outcome = await self._attempt(httpx_request, trace)
            if may_replay(request, trace, outcome):
                scope.deadline = deadline
                outcome = await self._attempt(httpx_request, trace)
        if isinstance(outcome, httpx.Response):
            return outcome
        if outcome is None:
            raise DeadlineExceeded(f"{request_name(request)}: no response in time")
        # Raised outside the handler, so that our error does not carry h11's, which may quote a header.
        error = translate_error(outcome, request_name(request), unsent=trace.unsent)
        del outcome  # a traceback may be printed with its variables
        raise error

    async def _attempt(self, request: httpx.Request, trace: RequestTrace) -> httpx.Response | Exception:
        try:
            return await self._client.send(request, stream=True, follow_redirects=False)
        except HTTPX_ERRORS as error:
            return error
        except BaseException:
            await _close_stream(trace.stream)
            raise


class HttpxResponse:
    """A response whose body is still arriving: iterate over its bytes, once."""

    def __init__(self, response: httpx.Response, request: str, deadline: float) -> None:
        self.status = response.status_code
        self.headers: Headers = decode_headers(response)
        self._response = response
        self._request = request
        self._deadline = deadline
        self._chunks = response.aiter_raw()
        self._exhausted = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._deadline == math.inf:
            # A cancel scope for each chunk would cost a watch as much as httpx itself.
            outcome = await self._next()
        else:
            outcome = DeadlineExceeded(f"{self._request}: the response did not end in time")
            with anyio.CancelScope(deadline=self._deadline):
                outcome = await self._next()
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    async def _next(self) -> bytes | Exception:
        try:
            return await anext(self._chunks)
        except HTTPX_ERRORS as error:
            failure = error
        except StopAsyncIteration:
            self._exhausted = True
            raise
        return translate_error(failure, self._request)

    async def aclose(self) -> None:
        """Close the connection, or return it to the pool if the complete body has been read."""
        if self._exhausted:
            return
        with anyio.CancelScope(shield=True):
            await self._response.aclose()
            # httpx stacks async generators, and closing the outer one leaves the inner ones to the garbage
            # collector, about which trio warns and for which asyncio starts tasks. So they run to their end:
            # the buffered bytes, then the error of a closed connection.
            with suppress(*HTTPX_ERRORS):
                async for _ in self._chunks:
                    pass
        await _close_stream(self._response.extensions.get("network_stream"))


async def _close_stream(stream: Any) -> None:
    """Close a connection that a cancelled httpcore may have forgotten.

    This happens when it is cancelled between opening a connection and using it, or while it releases one.
    """
    if stream is not None:
        with anyio.CancelScope(shield=True):
            await stream.aclose()


class _Body(httpx.AsyncByteStream):
    """A body without an async generator: httpx's own is never finished when sending is cancelled."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _BodyIterator(self._data)


class _BodyIterator:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data, self._data = self._data, b""
        if not data:
            raise StopAsyncIteration
        return data
