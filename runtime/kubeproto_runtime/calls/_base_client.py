"""`BaseClient`: sends requests over a transport, on asyncio and on trio. `Client` adds the verbs.

The policy decides when to retry. All other decisions are in generators, which `BlockingBaseClient` shares.
This class performs their effects.
"""

from __future__ import annotations

import random
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import ApiError, LocalProtocolError

from ..tasks._decoding_turns import DecodingTurns
from ._attempts import RETRIES, TIMEOUT
from ._body_limits import LIMITS, BodyLimits, ResponseBody
from ._core import ClientCore, call, fetch
from ._effects import Admit, CompleteResponse, Follow, SendRequest, SleepUntil, drive

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from typing import Self

    from kubeproto import Headers, IncomingResponse, RawRequest, Transport
    from kubeproto.control import Rate
    from kubeproto.requests import Reply, Request, StreamRequest
    from kubeproto.wire import Decoder, RetryPolicy, UpgradeRequest, WebSocket

    from ._effects import Effect, Effects

T = TypeVar("T")
E = TypeVar("E")

_SWITCHING_PROTOCOLS: Final = 101  # the status of a response that accepts a WebSocket


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class BaseClient(ClientCore):
    """Sends requests to a server, as a user: `call`, `open` and `upgrade`."""

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        retries: RetryPolicy = RETRIES,
        timeout: float | None = TIMEOUT,
        rate: Rate | None = None,
        limits: BodyLimits = LIMITS,
        wall_clock: Callable[[], datetime] = _wall_clock,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(
            namespace=namespace, retries=retries, timeout=timeout, rate=rate, limits=limits, rng=rng
        )
        self.transport = transport
        self.wall_clock = wall_clock
        self._turn = anyio.Lock()
        self.turns = DecodingTurns()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport!r}, namespace={self.namespace!r})"

    async def call(
        self,
        request: Request[T],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> Reply[T]:
        """Send a request, and return its response with its warnings. Raise `ApiError` if it is refused.

        If the server may have executed an earlier attempt, the error of that attempt is among the causes.
        """
        return await self.run(call(self, request, timeout=timeout, retries=retries))

    async def fetch(
        self,
        request: Request[Any],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> tuple[int, Headers, bytes]:
        """Send a request, and return its response without parsing it, also if it is refused."""
        return await self.run(fetch(self, request, timeout=timeout, retries=retries))

    @asynccontextmanager
    async def open(
        self, request: StreamRequest[E], *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[ResponseStream[E]]:
        """Send a request whose response is a stream, and read it as it arrives. It is not retried."""
        await self.admit()
        async with AsyncExitStack() as stack:
            with self.outgoing(request, self.transport) as outgoing:
                response = self.transport.send(outgoing.request, timeout=timeout, idle=idle)
                incoming = await stack.enter_async_context(response)
                outgoing.record_response(incoming.status)
            streamed = ResponseStream(incoming, request.open(incoming.status, incoming.headers))
            try:
                yield streamed
            finally:
                await streamed.aclose()

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[WebSocket]:
        """Turn a request into a WebSocket. Raise `LocalProtocolError` if the transport has none."""
        upgrade = getattr(self.transport, "upgrade", None)
        if upgrade is None:
            raise LocalProtocolError(f"{self.transport!r} has no WebSockets, which {request.verb} needs")
        await self.admit()
        limit = self.timeout if timeout is None else timeout
        async with AsyncExitStack() as stack:
            with self.outgoing(request, self.transport) as outgoing:
                opening = upgrade(outgoing.request, timeout=limit, idle=idle)
                try:
                    socket: WebSocket = await stack.enter_async_context(opening)
                except ApiError as error:
                    outgoing.record_response(error.code)
                    raise
                outgoing.record_response(_SWITCHING_PROTOCOLS)
            yield socket

    async def admit(self, deadline: float = inf) -> None:
        """Wait until the rate permits a request. Raise `DeadlineExceeded` now if that is after the
        deadline."""
        if self.rate is None:
            return
        self.admission.check(self.rate, self.now(), deadline)
        self.admission.waiting += 1
        try:
            async with self._turn:
                await anyio.sleep_until(self.admission.next_at(self.rate, self.now()))
                self.admission.take(self.rate, self.now())
        finally:
            self.admission.waiting -= 1

    async def run(self, effects: Effects[T]) -> T:
        """Perform the effects of a generator; see `_effects`."""
        return await drive(effects, self._perform)

    def now(self) -> float:
        """The time of the event loop."""
        return anyio.current_time()

    async def _perform(self, effect: Effect) -> Any:
        match effect:
            case SendRequest(request, timeout, idle):
                return await self._exchange(request, timeout, idle)
            case Admit(deadline):
                await self.admit(deadline)
            case SleepUntil(deadline):
                await anyio.sleep_until(deadline)
            case Follow():
                await self._follow(effect)
        return None

    async def _follow(self, effect: Follow) -> None:
        raise NotImplementedError  # `Client` implements it with the driver of the resync machine

    async def _exchange(
        self, request: RawRequest, timeout: float | None, idle: float | None
    ) -> CompleteResponse:
        with self.outgoing(request, self.transport) as outgoing:
            async with self.transport.send(outgoing.request, timeout=timeout, idle=idle) as incoming:
                outgoing.record_response(incoming.status)
                body = ResponseBody(request, incoming.status, self.limits, self.now())
                chunks = aiter(incoming)
                try:
                    async for chunk in chunks:
                        if body.add(chunk, self.now()):
                            break
                finally:
                    await close_chunks(chunks)
        return CompleteResponse(incoming.status, incoming.headers, body.content(), body.truncation)


class ResponseStream(Generic[E]):
    """The response of a stream. Iterate over its events, a list for each chunk."""

    def __init__(self, incoming: IncomingResponse, decoder: Decoder[E]) -> None:
        self.status = incoming.status
        self.headers = incoming.headers
        self._chunks: AsyncIterator[bytes] | None = aiter(incoming)
        self._decoder = decoder

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[E]:
        while self._chunks is not None:
            try:
                chunk = await anext(self._chunks)
            except StopAsyncIteration:
                self._chunks = None
                events = self._decoder.finish()
            else:
                events = self._decoder.feed(chunk)
            if events:
                return events
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading."""
        await close_chunks(self._chunks)
        self._chunks = None


async def close_chunks(chunks: object) -> None:
    """Close an iterator that may not have ended."""
    # Otherwise the garbage collector would close a generator, and trio warns about that.
    if (close := getattr(chunks, "aclose", None)) is not None:
        await close()
