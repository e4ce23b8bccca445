"""`Client`: sends the core's requests over a transport, and waits for what comes of them.

What a request is and what an answer means is the core's; when to try again is decided by its policy. All that
happens here is waiting.
"""

from __future__ import annotations

import logging
import random
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import anyio

from kubeproto import ALL, Api, ApiError, KubeObject, KubeprotoError, RemoteProtocolError, TransportError
from kubeproto.wire import GiveUp, Retry, RetryPolicy, classify

from ._verbs import BoundApi

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from kubeproto import Decoder, Incoming, Reply, Request, Resource, StreamRequest, Transport
    from kubeproto.control import Rate
    from kubeproto.requests import AllNamespaces

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
E = TypeVar("E")

_RETRIES: Final = RetryPolicy()
_TIMEOUT: Final = 60.0  # seconds; what a server itself grants a request

_log: Final = logging.getLogger("kubeproto.client")


def _wall() -> datetime:
    return datetime.now(UTC)


class Client:
    """One server, as one user sees it. `namespace` is meant where none is named.

    A request that fails is sent again as `retries` say, for at most `timeout` seconds in all. `rate` bounds
    what is sent, and is off by default: servers say themselves when it is too much. `wall` gives the time
    that is written into objects, `random` draws what several clients should not do at the same moment.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        retries: RetryPolicy = _RETRIES,
        timeout: float | None = _TIMEOUT,
        rate: Rate | None = None,
        wall: Callable[[], datetime] = _wall,
        dice: random.Random | None = None,
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self.retries = retries
        self.timeout = timeout
        self.rate = rate
        self.wall = wall
        self.random = dice or random.Random()  # spreads retries, guards nothing
        self._full_at = float("-inf")
        self._warned: set[str] = set()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport!r}, namespace={self.namespace!r})"

    def api(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> BoundApi[K]:
        """The verbs on one kind, awaitable: in one namespace, in all (`ALL`), or in that of this client."""
        return BoundApi(self, self.requests(kind, namespace=namespace, resource=resource))

    def requests(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> Api[K]:
        """The same verbs as requests, for `call` and `open`."""
        api = Api(kind, namespace=ALL, resource=resource)
        if namespace is ALL:
            return api
        given = namespace or (self.namespace if api.resource.namespaced else "")
        return Api(kind, namespace=given, resource=resource)

    async def call(
        self,
        request: Request[T],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> Reply[T]:
        """Send a request and read its answer, warnings and all; or the `ApiError` that it is.

        If an earlier attempt may have been carried out, the error of a later one has it as its cause.
        """
        policy = self.retries if retries is None else retries
        limit = self.timeout if timeout is None else timeout
        deadline = None if limit is None else anyio.current_time() + limit
        uncertain: KubeprotoError | None = None
        attempt = 0
        while True:
            attempt += 1
            try:
                reply = await self._ask(request, deadline)
            except (ApiError, TransportError, RemoteProtocolError) as error:
                now, outcome = anyio.current_time(), classify(error)
                match policy.decide(
                    request.safety, outcome, attempt, now, jitter=self.random.random(), deadline=deadline
                ):
                    case GiveUp():
                        if uncertain is not None and error.__cause__ is None:
                            raise error from uncertain
                        raise
                    case Retry(at, may_be_done):
                        uncertain = error if may_be_done else uncertain
                        _log.debug("%s, tried again in %.3g s", error, at - now)
                await anyio.sleep_until(at)
            else:
                self._warn(reply.warnings)
                return reply

    @asynccontextmanager
    async def open(
        self, request: StreamRequest[E], *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Streamed[E]]:
        """Send a request whose answer goes on, and read it as it comes. Nothing is tried again."""
        await self.admit()
        async with self.transport.send(request, timeout=timeout, idle=idle) as incoming:
            yield Streamed(incoming, request.open(incoming.status, incoming.headers))

    async def admit(self) -> None:
        """Wait until the rate lets another request go."""
        if self.rate is None:
            return
        now = anyio.current_time()
        full_at = self.rate.at_rest(self._full_at, now)
        self._full_at = self.rate.take(full_at)
        await anyio.sleep_until(self.rate.next_at(full_at))

    async def _ask(self, request: Request[T], deadline: float | None) -> Reply[T]:
        await self.admit()
        timeout = None if deadline is None else max(0.0, deadline - anyio.current_time())
        async with self.transport.send(request, timeout=timeout) as incoming:
            pieces = [piece async for piece in incoming]
        return request.parse(incoming.status, incoming.headers, b"".join(pieces))

    def _warn(self, warnings: tuple[str, ...]) -> None:
        """Say what the server warns of, once: a deprecated version is asked for thousands of times."""
        for warning in warnings:
            if warning not in self._warned and len(self._warned) < _MOST_WARNINGS:
                self._warned.add(warning)
                _log.warning("%s", warning)


_MOST_WARNINGS: Final = 1000


class Streamed(Generic[E]):
    """An answer that goes on: iterate for what has come, a list a chunk."""

    def __init__(self, incoming: Incoming, decoder: Decoder[E]) -> None:
        self.status = incoming.status
        self.headers = incoming.headers
        self._incoming = incoming
        self._decoder = decoder

    async def __aiter__(self) -> AsyncIterator[list[E]]:
        async for chunk in self._incoming:
            if news := self._decoder.feed(chunk):
                yield news
        if rest := self._decoder.finish():
            yield rest
