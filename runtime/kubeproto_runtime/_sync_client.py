"""`BlockingClient`: the client for threads and scripts, over a blocking transport.

It has the shape of `Client`, and the same things decide: the core's requests, its policy for retries, its
resync machine. Threads may share one. `clock` and `sleep` are arguments, so a test can run it in no time.
"""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from kubeproto import (
    Api,
    ApiError,
    DeadlineExceeded,
    Discovering,
    KubeObject,
    RemoteProtocolError,
    Resource,
    TransportError,
)
from kubeproto.requests import health, openapi_document, openapi_index, version
from kubeproto.wire import is_enough

from ._attempts import RETRIES, SILENCE, TIMEOUT, Attempts, Warned, requests_of
from ._discovering import _AGAIN, NotInstalled, _resource_of, _serves
from ._sync_verbs import BlockingApi

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from kubeproto import (
        BlockingIncoming,
        BlockingTransport,
        Decoder,
        Discovery,
        Head,
        Headers,
        Reply,
        Request,
        StreamRequest,
    )
    from kubeproto.control import Rate
    from kubeproto.requests import AllNamespaces, Health, ServerVersion
    from kubeproto.wire import RetryPolicy

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
E = TypeVar("E")

_Endpoint = Literal["livez", "readyz", "healthz"]


class BlockingClient:
    """One server, as one user sees it. `namespace` is meant where none is named.

    A request that fails is sent again as `retries` say, for at most `timeout` seconds in all. `rate` bounds
    what is sent, and is off by default: servers say themselves when it is too much. `clock` and `sleep` are
    those of a monotonic clock, `dice` draws what several clients should not do at the same moment.
    """

    def __init__(
        self,
        transport: BlockingTransport,
        *,
        namespace: str = "default",
        retries: RetryPolicy = RETRIES,
        timeout: float | None = TIMEOUT,
        rate: Rate | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        dice: random.Random | None = None,
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self.retries = retries
        self.timeout = timeout
        self.rate = rate
        self.clock = clock
        self.random = dice or random.Random()  # spreads retries, guards nothing
        self.discovery: Discovery | None = None
        self._sleep = sleep
        self._full_at = -inf
        self._warned = Warned()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport!r}, namespace={self.namespace!r})"

    def api(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> BlockingApi[K]:
        """The verbs on one kind: in one namespace, in all (`ALL`), or in that of this client."""
        return BlockingApi(self, self.requests(kind, namespace=namespace, resource=resource))

    def requests(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> Api[K]:
        """The same verbs as requests, for `call` and `open`."""
        return requests_of(kind, namespace, resource, self.namespace)

    def version(self) -> ServerVersion:
        """Which server this is."""
        return self.call(version()).value

    def health(
        self, endpoint: _Endpoint = "readyz", *, check: str = "", verbose: bool = False,
        exclude: Sequence[str] = (),
    ) -> Health:  # fmt: skip
        """Whether the server lives or is ready, by all checks or by one."""
        return self.call(health(endpoint, check=check, verbose=verbose, exclude=exclude)).value

    def openapi_index(self) -> dict[str, str]:
        """Which OpenAPI v3 documents there are, each with its hash."""
        return self.call(openapi_index()).value

    def openapi_document(self, path: str, *, hash: str = "") -> dict[str, Any]:  # noqa: A002 # as the core
        """One OpenAPI v3 document; with its hash, the answer may be kept for ever."""
        return self.call(openapi_document(path, hash=hash)).value

    def discover(self) -> Discovery:
        """All kinds that the server serves, as it says now; asking again costs little if nothing changed."""
        asking = Discovering(self.discovery)
        while (result := asking.result) is None:
            request = asking.requests[0]
            asking = asking.received(request, *self.fetch(request))
        self.discovery = result
        return result

    def require(self, *kinds: type[KubeObject] | Resource, within: float = 0.0) -> None:
        """Make sure that the server knows these kinds, or `NotInstalled` names the first that it does not.

        With `within`, wait so many seconds for somebody to install them.
        """
        wanted = [kind if isinstance(kind, Resource) else _resource_of(kind) for kind in kinds]
        end = self.clock() + within
        while True:
            found = self.discover()
            missing = [resource for resource in wanted if not _serves(found, resource)]
            if not missing:
                return
            if self.clock() >= end:
                raise NotInstalled(missing[0])
            self.sleep_until(min(self.clock() + _AGAIN, end))

    def call(
        self,
        request: Request[T],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> Reply[T]:
        """Send a request and read its answer, warnings and all; or the `ApiError` that it is.

        If an earlier attempt may have been carried out, the error of a later one has it among its causes.
        """
        reply = self._persist(request, request.parse, timeout, retries)
        self._warned.say(reply.warnings)
        return reply

    def fetch(
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
            self._persist(request, keep, timeout, retries)
        except (ApiError, RemoteProtocolError):
            if not answers:
                raise
        return answers[-1]

    @contextmanager
    def open(
        self, request: StreamRequest[E], *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingStreamed[E]]:
        """Send a request whose answer goes on, and read it as it comes. Nothing is tried again."""
        self.admit()
        with self.transport.send(request, timeout=timeout, idle=idle) as incoming:
            yield BlockingStreamed(incoming, request.open(incoming.status, incoming.headers))

    def admit(self, deadline: float = inf) -> None:
        """Wait until the rate lets another request go; `DeadlineExceeded`, at once, if that is too late."""
        if self.rate is None:
            return
        with self._lock:
            full_at = max(self._full_at, self.clock())
            at = self.rate.next_at(full_at)
            if at <= deadline:
                self._full_at = self.rate.take(full_at)
        if at > deadline:
            wait = at - self.clock()
            raise DeadlineExceeded(
                f"the rate of this client lets a request go in {wait:.3g} s, which is too late"
            )
        self.sleep_until(at)

    def sleep_until(self, at: float) -> None:
        """Wait for a time on this client's clock."""
        if (seconds := at - self.clock()) > 0:
            self._sleep(seconds)

    def _persist(
        self,
        request: Request[Any],
        read: Callable[[int, Headers, bytes], T],
        timeout: float | None,
        retries: RetryPolicy | None,
    ) -> T:
        """Ask until there is an answer, or until the policy gives up."""
        policy = self.retries if retries is None else retries
        limit = self.timeout if timeout is None else timeout
        deadline = None if limit is None else self.clock() + limit
        attempts = Attempts(request.safety, policy, deadline)
        while True:
            try:
                return read(*self._ask(request, deadline))
            except (ApiError, TransportError, RemoteProtocolError) as error:
                at = attempts.again_at(error, self.clock(), self.random.random())
                if at is None:
                    raise
            self.sleep_until(at)

    def _ask(self, request: Head, deadline: float | None) -> tuple[int, Headers, bytes]:
        self.admit(inf if deadline is None else deadline)
        # Not 0, which some sockets take for "do not wait at all" and others for "for ever".
        timeout = None if deadline is None else max(0.001, deadline - self.clock())
        try:
            with self.transport.send(request, timeout=timeout, idle=SILENCE) as incoming:
                body = b"".join(self._pieces(incoming))
        except DeadlineExceeded as error:
            if deadline is not None and self.clock() >= deadline:
                raise
            raise TransportError(str(error)) from error  # a line that is dead; there is time to try another
        return incoming.status, incoming.headers, body

    def _pieces(self, incoming: BlockingIncoming) -> Iterator[bytes]:
        """Give the pieces of a body; of one that refuses, no more than a Status needs."""
        begun, size = self.clock(), 0
        for piece in incoming:
            yield piece
            size += len(piece)
            if is_enough(incoming.status, size, self.clock() - begun):
                return


class BlockingStreamed(Generic[E]):
    """An answer that goes on: iterate for what has come, a list a chunk."""

    def __init__(self, incoming: BlockingIncoming, decoder: Decoder[E]) -> None:
        self.status = incoming.status
        self.headers = incoming.headers
        self._incoming = incoming
        self._decoder = decoder

    def __iter__(self) -> Iterator[list[E]]:
        for chunk in self._incoming:
            if news := self._decoder.feed(chunk):
                yield news
        if rest := self._decoder.finish():
            yield rest
