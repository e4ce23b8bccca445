"""`HttpxTransport`: the async one, on asyncio and on trio."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, Self

import anyio
import httpx

from kubeproto import DeadlineExceeded, Head, Headers

from ._clients import make_async_client
from ._errors import FOREIGN, translated
from ._exchange import CONNECT_TIMEOUT, Timeouts, Trace, build, named, no_websocket, received, replayable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from kubeproto.config import Connection
    from kubeproto.wire import UpgradeRequest


class HttpxTransport:
    """Carries requests over an `httpx.AsyncClient`: yours, with its `base_url`, or one made for a connection.

    Yours stays open when this is closed, and keeps its settings: its headers, its limits (100 connections,
    unless you say otherwise), its authentication. Redirects are never followed.
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
        self, head: Head, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[HttpxIncoming]:
        """Send a request and wait for the head of its response."""
        deadline = math.inf if timeout is None else anyio.current_time() + timeout
        timeouts: Timeouts = {"connect": CONNECT_TIMEOUT, "read": None, "write": None, "pool": None}
        response = await self._open(head, timeouts, deadline, None if head.body else idle)
        # httpcore reads this once more, when the body begins.
        timeouts["read"] = idle
        incoming = HttpxIncoming(response, named(head), deadline)
        try:
            yield incoming
        finally:
            await incoming.aclose()

    def upgrade(self, request: UpgradeRequest, **_: float | None) -> NoReturn:
        """Refused: httpx has no WebSockets. Use kubeproto_trio or kubeproto_asyncio for those."""
        raise no_websocket(request)

    async def _open(
        self, head: Head, timeouts: Timeouts, deadline: float, idle: float | None
    ) -> httpx.Response:
        trace = Trace(head)
        scope = anyio.CancelScope()

        async def note(name: str, info: Mapping[str, Any]) -> None:
            trace.note(name, info)
            if name.endswith(".receive_response_headers.started"):
                # The whole head must arrive in this time; httpx would restart the timeout with each byte. A
                # proxy's response to CONNECT belongs to the connection.
                seconds = CONNECT_TIMEOUT if info["request"].method == b"CONNECT" else idle
                by = math.inf if seconds is None else anyio.current_time() + seconds
                scope.deadline = min(deadline, by)

        outcome: httpx.Response | Exception | None = None  # None if the time is up
        request = build(self._client, head, timeouts, note, compression=self._compression)
        if head.body:
            request.stream = _Body(head.body)
        with scope:
            scope.deadline = deadline
            outcome = await self._attempt(request, trace)
            if replayable(head, trace, outcome):
                scope.deadline = deadline
                outcome = await self._attempt(request, trace)
        if isinstance(outcome, httpx.Response):
            return outcome
        if outcome is None:
            raise DeadlineExceeded(f"{named(head)}: no response in time")
        # Outside the handler, so that our error does not carry what h11 may have quoted of a header.
        error = translated(outcome, named(head), unsent=trace.unsent)
        del outcome  # a traceback may be printed with its variables
        raise error

    async def _attempt(self, request: httpx.Request, trace: Trace) -> httpx.Response | Exception:
        try:
            return await self._client.send(request, stream=True, follow_redirects=False)
        except FOREIGN as error:
            return error
        except BaseException:
            await _abandon(trace.socket)
            raise


class HttpxIncoming:
    """A response whose body is still arriving: iterate for its bytes, once."""

    def __init__(self, response: httpx.Response, request: str, deadline: float) -> None:
        self.status = response.status_code
        self.headers: Headers = received(response)
        self._response = response
        self._request = request
        self._deadline = deadline
        self._pieces = response.aiter_raw()
        self._ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._deadline == math.inf:
            # A scope for each piece would cost a watch as much as httpx itself.
            piece = await self._next()
        else:
            piece = DeadlineExceeded(f"{self._request}: the response did not end in time")
            with anyio.CancelScope(deadline=self._deadline):
                piece = await self._next()
        if isinstance(piece, bytes):
            return piece
        raise piece

    async def _next(self) -> bytes | Exception:
        try:
            return await anext(self._pieces)
        except FOREIGN as error:
            failure = error
        except StopAsyncIteration:
            self._ended = True
            raise
        return translated(failure, self._request)

    async def aclose(self) -> None:
        """Close the connection, or return it to the pool if the whole body has been read."""
        if self._ended:
            return
        with anyio.CancelScope(shield=True):
            await self._response.aclose()
            # httpx stacks async generators, and closing the outer one leaves the inner ones to the garbage
            # collector, of which trio complains and for which asyncio starts tasks. So they run to their end:
            # what is in the buffer, then the error of a closed connection.
            with suppress(*FOREIGN):
                async for _ in self._pieces:
                    pass
        await _abandon(self._response.extensions.get("network_stream"))


async def _abandon(stream: Any) -> None:
    """Close a connection that a cancelled httpcore may have forgotten.

    It does so when it is cancelled between opening a connection and using it, or while it releases one.
    """
    if stream is not None:
        with anyio.CancelScope(shield=True):
            await stream.aclose()


class _Body(httpx.AsyncByteStream):
    """A body without an async generator: httpx's own is left unfinished when sending is cancelled."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Once(self._data)


class _Once:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data, self._data = self._data, b""
        if not data:
            raise StopAsyncIteration
        return data
