"""`HttpxTransport`: the async one, on asyncio and on trio."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx

from kubeproto import DeadlineExceeded, Head, Headers

from ._clients import make_async_client
from ._errors import FOREIGN, translated
from ._exchange import CONNECT_TIMEOUT, Timeouts, Trace, build, named, received, replayable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from kubeproto.config import Connection


class HttpxTransport:
    """Carries requests over an `httpx.AsyncClient`: yours, with its `base_url`, or one made for a connection.

    Yours stays open when this is closed, and keeps its own ways: its headers, its limits (100 connections,
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
        """Close the idle connections. What is still being answered is closed by who reads it."""
        if self._owned:
            with anyio.CancelScope(shield=True):
                await self._client.aclose()

    @asynccontextmanager
    async def send(
        self, head: Head, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[HttpxIncoming]:
        """Send a request and wait for the head of its answer."""
        deadline = math.inf if timeout is None else anyio.current_time() + timeout
        timeouts: Timeouts = {"connect": CONNECT_TIMEOUT, "read": None, "write": None, "pool": None}
        response = await self._open(head, timeouts, deadline)
        # httpcore looks here once more, when the body begins.
        timeouts["read"] = idle
        incoming = HttpxIncoming(response, named(head), deadline)
        try:
            yield incoming
        finally:
            await incoming.aclose()

    async def _open(self, head: Head, timeouts: Timeouts, deadline: float) -> httpx.Response:
        trace = Trace()

        async def note(name: str, info: Mapping[str, Any]) -> None:
            trace.note(name, info)

        request = build(self._client, head, timeouts, note, compression=self._compression)
        outcome = await self._attempt(request, deadline)
        if replayable(head, trace, outcome):
            outcome = await self._attempt(request, deadline)
        if isinstance(outcome, httpx.Response):
            return outcome
        if outcome is None:
            raise DeadlineExceeded(f"{named(head)}: no answer in time")
        # Outside its handler, so that the error of ours does not carry what h11 may have quoted of a header.
        raise translated(outcome, named(head), unsent=trace.unsent)

    async def _attempt(self, request: httpx.Request, deadline: float) -> httpx.Response | Exception | None:
        with anyio.CancelScope(deadline=deadline):
            try:
                return await self._client.send(request, stream=True, follow_redirects=False)
            except FOREIGN as error:
                return error
        return None  # the time is up


class HttpxIncoming:
    """An answer whose body is still arriving: iterate for its bytes, once."""

    def __init__(self, response: httpx.Response, request: str, deadline: float) -> None:
        self.status = response.status_code
        self.headers: Headers = received(response)
        self._response = response
        self._request = request
        self._deadline = deadline
        self._pieces = response.aiter_raw()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        failure: Exception | None = None
        if self._deadline == math.inf:
            # A scope for each piece would cost a watch as much as httpx itself.
            try:
                return await anext(self._pieces)
            except FOREIGN as error:
                failure = error
            raise translated(failure, self._request)
        with anyio.CancelScope(deadline=self._deadline):
            try:
                return await anext(self._pieces)
            except FOREIGN as error:
                failure = error
        if failure is None:
            raise DeadlineExceeded(f"{self._request}: the answer did not end in time")
        raise translated(failure, self._request)

    async def aclose(self) -> None:
        """Close the connection, or hand it back if the whole body has been read."""
        with anyio.CancelScope(shield=True):
            await self._response.aclose()
            # httpx stacks async generators, and closing the outer one leaves the inner ones to the garbage
            # collector, of which trio complains and for which asyncio starts tasks. So they run to their end:
            # what is in the buffer, then the error of a closed connection.
            try:
                async for _ in self._pieces:
                    pass
            except FOREIGN:
                pass
