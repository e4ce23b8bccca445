"""`BlockingClient`: the client for threads and scripts, over a blocking transport.

It has the names and parameters of `Client`, and what both decide is written once.
Threads may share one. `clock` and `sleep` are arguments, so that a test can run it in no time.
"""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from math import inf
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack

from kubeproto import KubeObject
from kubeproto.requests import health, openapi_document, openapi_index, version

from ..calls._attempts import RETRIES, TIMEOUT
from ..calls._bodies import LIMITS, BodyLimits, Collected
from ..calls._core import call, fetch
from ..calls._discovery import discover, require
from ..calls._effects import Admit, Follow, SendRequest, SleepUntil, WholeResponse, drive_blocking
from ..writing._applying import Applying, apply
from ._object_verbs import BlockingObjectVerbs
from ._resync_driver import BlockingResyncDriver
from ._verbs import BlockingApi

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Generator, Iterator, Sequence

    from kubeproto import BlockingIncoming, BlockingTransport, Discovery, Head, Headers, Resource
    from kubeproto.control import Rate
    from kubeproto.requests import AllNamespaces, Health, Reply, Request, ServerVersion, StreamRequest
    from kubeproto.wire import Decoder, RetryPolicy

    from ..calls._effects import Effect, Effects
    from ..writing._applying import Applied, Manifests

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
E = TypeVar("E")

_Endpoint = Literal["livez", "readyz", "healthz"]


class BlockingClient(BlockingObjectVerbs):
    """One server, as one user sees it. `namespace` is meant where none is named.

    It lacks what needs a WebSocket: `upgrade`, and of the verbs `exec`, `attach` and `port_forward`.

    A request that fails is sent again as `retries` say, for at most `timeout` seconds in all. `rate` bounds
    what is sent, and is off by default: servers say themselves when it is too much. `limits` bound what is
    read of a response. `clock` and `sleep` are those of a monotonic clock, `dice` draws what several clients
    should not do at the same moment.
    """

    def __init__(
        self,
        transport: BlockingTransport,
        *,
        namespace: str = "default",
        retries: RetryPolicy = RETRIES,
        timeout: float | None = TIMEOUT,
        rate: Rate | None = None,
        limits: BodyLimits = LIMITS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(
            namespace=namespace, retries=retries, timeout=timeout, rate=rate, limits=limits, rng=rng
        )
        self.transport = transport
        self.clock = clock
        self._sleep = sleep
        self._turn = Lock()
        self._counting = Lock()

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

    def apply_manifests(self, manifests: Manifests, **options: Unpack[Applying]) -> list[Applied]:
        """Apply a whole file, or objects, in an order in which each finds what it needs; see `Applying`.

        Kinds are looked up on the server. It stops at what is refused, with a `ApplyError` that says which
        object it was; a text that cannot be read is an `InvalidManifest` that names the line.
        """
        return self.run(apply(self, manifests, options))

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
        """All kinds that the server serves. Asking again costs little while nothing changes."""
        return self.run(discover(self))

    def require(self, *kinds: type[KubeObject] | Resource, within: float = 0.0) -> None:
        """Make sure that the server knows these kinds, or `KindNotServed` names the first that it does not.

        With `within`, wait so many seconds for somebody to install them.
        """
        self.run(require(self, kinds, within=within))

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
        return self.run(call(self, request, timeout=timeout, retries=retries))

    def fetch(
        self,
        request: Request[Any],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> tuple[int, Headers, bytes]:
        """The same, for who reads the answer by himself, also one that refuses: as it came."""
        return self.run(fetch(self, request, timeout=timeout, retries=retries))

    @contextmanager
    def open(
        self, request: StreamRequest[E], *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingStreamed[E]]:
        """Send a request whose answer goes on, and read it as it comes. Nothing is tried again."""
        self.admit()
        with self.transport.send(request, timeout=timeout, idle=idle) as incoming:
            yield BlockingStreamed(incoming, request.open(incoming.status, incoming.headers))

    def admit(self, deadline: float = inf) -> None:
        """Wait until the rate permits another request; `DeadlineExceeded`, at once, if that is too late."""
        if self.rate is None:
            return
        with self._counting:
            self.admission.check(self.rate, self.now(), deadline)
            self.admission.waiting += 1
        try:
            with self._turn:
                self.sleep_until(self.admission.next_at(self.rate, self.now()))
                self.admission.take(self.rate, self.now())
        finally:
            with self._counting:
                self.admission.waiting -= 1

    def sleep_until(self, at: float) -> None:
        """Wait for a time on this client's clock."""
        if (seconds := at - self.now()) > 0:
            self._sleep(seconds)

    # What the generators ask for

    def run(self, effects: Effects[T]) -> T:
        """Perform what the logic of a client asks for; see `_effects`."""
        return drive_blocking(effects, self._perform)

    def now(self) -> float:
        """The time on this client's clock."""
        return self.clock()

    def _perform(self, effect: Effect) -> Any:
        match effect:
            case SendRequest(head, timeout, idle):
                return self._exchange(head, timeout, idle)
            case Admit(deadline):
                self.admit(deadline)
            case SleepUntil(at):
                self.sleep_until(at)
            case Follow():
                self._follow(effect)
        return None

    def _exchange(self, head: Head, timeout: float | None, idle: float | None) -> WholeResponse:
        # Not 0, which some sockets take for "do not wait at all" and others for "for ever".
        timeout = None if timeout is None else max(0.001, timeout)
        with self.transport.send(head, timeout=timeout, idle=idle) as incoming:
            body = Collected(head, incoming.status, self.limits, self.now())
            for piece in incoming:
                if body.take(piece, self.now()):
                    break
        return WholeResponse(incoming.status, incoming.headers, body.whole(), body.cut)

    def _follow(self, effect: Follow) -> None:
        finished = Event()
        effect.observer.finished = finished.set
        following = BlockingResyncDriver(
            self,
            effect.requests,
            effect.observer,
            settings=effect.settings,
            version=effect.version,
            selection=effect.selection,
            until=effect.until,
            enough=finished.is_set,
        )
        with closing(following.attend()) as attending:
            for _ in attending:
                if finished.is_set():
                    break


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
