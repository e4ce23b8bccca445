"""`Client`: sends the core's requests over a transport, and waits for what comes of them.

What a request is and what an answer means is the core's; when to try again is decided by its policy. All that
happens here is waiting.
"""

from __future__ import annotations

import random
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack

import anyio

from kubeproto import (
    Api,
    ApiError,
    DeadlineExceeded,
    KubeObject,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from kubeproto.requests import health, openapi_document, openapi_index, version
from kubeproto.wire import is_enough

from ._applying import Applying, apply_manifests
from ._attempts import RETRIES, SILENCE, TIMEOUT, Attempts, Warned, requests_of
from ._discovering import discover, require
from ._verbs import BoundApi

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
    from typing import Self

    from kubeproto import (
        Decoder,
        Discovery,
        Head,
        Headers,
        Incoming,
        Reply,
        Request,
        Resource,
        StreamRequest,
        Transport,
        UpgradeRequest,
    )
    from kubeproto.control import Rate
    from kubeproto.requests import AllNamespaces, Health, ServerVersion
    from kubeproto.wire import RetryPolicy, WebSocket

    from ._applying import Applied, Manifests

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
E = TypeVar("E")

_Endpoint = Literal["livez", "readyz", "healthz"]


def _wall() -> datetime:
    return datetime.now(UTC)


class Client:
    """One server, as one user sees it. `namespace` is meant where none is named.

    A request that fails is sent again as `retries` say, for at most `timeout` seconds in all. `rate` bounds
    what is sent, and is off by default: servers say themselves when it is too much. `wall` gives the time
    that is written into objects, `dice` draws what several clients should not do at the same moment.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        retries: RetryPolicy = RETRIES,
        timeout: float | None = TIMEOUT,
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
        self.discovery: Discovery | None = None
        self._full_at = -inf
        self._warned = Warned()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport!r}, namespace={self.namespace!r})"

    # The verbs

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
        return requests_of(kind, namespace, resource, self.namespace)

    async def apply_manifests(self, manifests: Manifests, **options: Unpack[Applying]) -> list[Applied]:
        """Apply a whole file, or objects, in an order in which each finds what it needs; see `Applying`.

        Kinds are looked up on the server. It stops at what is refused, with a `NotApplied` that says which
        object it was; a text that cannot be read is an `InvalidManifest` that names the line.
        """
        return await apply_manifests(self, manifests, **options)

    # The server

    async def version(self) -> ServerVersion:
        """Which server this is."""
        return (await self.call(version())).value

    async def health(
        self, endpoint: _Endpoint = "readyz", *, check: str = "", verbose: bool = False,
        exclude: Sequence[str] = (),
    ) -> Health:  # fmt: skip
        """Whether the server lives or is ready, by all checks or by one."""
        return (await self.call(health(endpoint, check=check, verbose=verbose, exclude=exclude))).value

    async def openapi_index(self) -> dict[str, str]:
        """Which OpenAPI v3 documents there are, each with its hash."""
        return (await self.call(openapi_index())).value

    async def openapi_document(self, path: str, *, hash: str = "") -> dict[str, Any]:  # noqa: A002 # as the core
        """One OpenAPI v3 document; with its hash, the answer may be kept for ever."""
        return (await self.call(openapi_document(path, hash=hash))).value

    async def discover(self) -> Discovery:
        """All kinds that the server serves. Asking again costs little while nothing changes."""
        self.discovery = await discover(self, self.discovery)
        return self.discovery

    async def require(self, *kinds: type[KubeObject] | Resource, within: float = 0.0) -> None:
        """Make sure that the server knows these kinds, or `NotInstalled` names the first that it does not.

        With `within`, wait so many seconds for somebody to install them.
        """
        await require(self, kinds, within=within)

    # Requests

    async def call(
        self,
        request: Request[T],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> Reply[T]:
        """Send a request and read its answer, warnings and all; or the `ApiError` that it is.

        If an earlier attempt may have been carried out, the error of a later one has it among its causes.
        """
        reply = await self._persist(request, request.parse, timeout, retries)
        self._warned.say(reply.warnings)
        return reply

    async def fetch(
        self,
        request: Request[Any],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> tuple[int, Headers, bytes]:
        """The same, for who reads the answer by himself, also one that refuses: as it came."""
        answers: list[tuple[int, Headers, bytes]] = []

        def keep(*answer: *tuple[int, Headers, bytes]) -> None:
            answers.append(answer)
            request.parse(*answer)

        try:
            await self._persist(request, keep, timeout, retries)
        except (ApiError, RemoteProtocolError):
            if not answers:
                raise
        return answers[-1]

    @asynccontextmanager
    async def open(
        self, request: StreamRequest[E], *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Streamed[E]]:
        """Send a request whose answer goes on, and read it as it comes. Nothing is tried again."""
        await self.admit()
        async with self.transport.send(request, timeout=timeout, idle=idle) as incoming:
            streamed = Streamed(incoming, request.open(incoming.status, incoming.headers))
            try:
                yield streamed
            finally:
                await streamed.aclose()

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[WebSocket]:
        """Turn a request into a WebSocket; a `LocalProtocolError` if this transport knows none."""
        upgrade = getattr(self.transport, "upgrade", None)
        if upgrade is None:
            raise LocalProtocolError(f"{self.transport!r} has no WebSockets, which {request.verb} needs")
        await self.admit()
        limit = self.timeout if timeout is None else timeout
        async with upgrade(request, timeout=limit, idle=idle) as socket:
            yield socket

    async def admit(self, deadline: float = inf) -> None:
        """Wait until the rate lets another request go; `DeadlineExceeded`, at once, if that is too late."""
        if self.rate is None:
            return
        full_at = max(self._full_at, anyio.current_time())
        at = self.rate.next_at(full_at)
        if at > deadline:
            wait = at - anyio.current_time()
            raise DeadlineExceeded(
                f"the rate of this client lets a request go in {wait:.3g} s, which is too late"
            )
        self._full_at = self.rate.take(full_at)
        await anyio.sleep_until(at)

    async def _persist(
        self,
        request: Request[Any],
        read: Callable[[int, Headers, bytes], T],
        timeout: float | None,
        retries: RetryPolicy | None,
    ) -> T:
        """Ask until there is an answer, or until the policy gives up."""
        policy = self.retries if retries is None else retries
        limit = self.timeout if timeout is None else timeout
        deadline = None if limit is None else anyio.current_time() + limit
        attempts = Attempts(request.safety, policy, deadline)
        while True:
            try:
                return read(*await self._ask(request, deadline))
            except (ApiError, TransportError, RemoteProtocolError) as error:
                at = attempts.again_at(error, anyio.current_time(), self.random.random())
                if at is None:
                    raise
            await anyio.sleep_until(at)

    async def _ask(self, request: Head, deadline: float | None) -> tuple[int, Headers, bytes]:
        await self.admit(inf if deadline is None else deadline)
        timeout = None if deadline is None else max(0.0, deadline - anyio.current_time())
        try:
            async with self.transport.send(request, timeout=timeout, idle=SILENCE) as incoming:
                body = await _body(incoming)
        except DeadlineExceeded as error:
            if deadline is not None and anyio.current_time() >= deadline:
                raise
            raise TransportError(str(error)) from error  # a line that is dead; there is time to try another
        return incoming.status, incoming.headers, body


async def _body(incoming: Incoming) -> bytes:
    """Read a body; of one that refuses, no more than a Status needs."""
    if 200 <= incoming.status < 300:
        return b"".join([piece async for piece in incoming])
    chunks = aiter(incoming)
    begun, size, pieces = anyio.current_time(), 0, list[bytes]()
    try:
        async for piece in chunks:
            pieces.append(piece)
            size += len(piece)
            if is_enough(incoming.status, size, anyio.current_time() - begun):
                break
    finally:
        # A generator that is not at its end would be left to the garbage collector, which trio warns of.
        if (close := getattr(chunks, "aclose", None)) is not None:
            await close()
    return b"".join(pieces)


class Streamed(Generic[E]):
    """An answer that goes on: iterate for what has come, a list a chunk."""

    def __init__(self, incoming: Incoming, decoder: Decoder[E]) -> None:
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
                news = self._decoder.finish()
            else:
                news = self._decoder.feed(chunk)
            if news:
                return news
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Read no more."""
        # A generator that is not at its end would be left to the garbage collector, which trio warns of.
        if (close := getattr(self._chunks, "aclose", None)) is not None:
            await close()
        self._chunks = None
