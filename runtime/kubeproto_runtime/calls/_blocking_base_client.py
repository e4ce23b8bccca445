"""`BlockingBaseClient`: sends requests over a blocking transport. `BlockingClient` adds the verbs."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._attempts import RETRIES, TIMEOUT
from ._body_limits import LIMITS, BodyLimits, ResponseBody
from ._core import ClientCore, call, fetch
from ._effects import Admit, CompleteResponse, Follow, SendRequest, SleepUntil, drive_blocking

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Generator, Iterator

    from kubeproto import BlockingIncomingResponse, BlockingTransport, Headers, RawRequest
    from kubeproto.control import Rate
    from kubeproto.requests import Reply, Request, StreamRequest
    from kubeproto.wire import Decoder, RetryPolicy

    from ._effects import Effect, Effects

T = TypeVar("T")
E = TypeVar("E")


class BlockingBaseClient(ClientCore):
    """Sends requests to a server, as a user, in threads: `call` and `open`."""

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
        self._count_lock = Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport!r}, namespace={self.namespace!r})"

    def call(
        self,
        request: Request[T],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> Reply[T]:
        """Send a request, and return its response with its warnings. Raise `ApiError` if it is refused.

        If the server may have executed an earlier attempt, the error of that attempt is among the causes.
        """
        return self.run(call(self, request, timeout=timeout, retries=retries))

    def fetch(
        self,
        request: Request[Any],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> tuple[int, Headers, bytes]:
        """Send a request, and return its response without parsing it, also if it is refused."""
        return self.run(fetch(self, request, timeout=timeout, retries=retries))

    @contextmanager
    def open(
        self, request: StreamRequest[E], *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingResponseStream[E]]:
        """Send a request whose response is a stream, and read it as it arrives. It is not retried."""
        self.admit()
        with ExitStack() as stack:
            with self.outgoing(request, self.transport) as outgoing:
                response = self.transport.send(outgoing.request, timeout=timeout, idle=idle)
                incoming = stack.enter_context(response)
                outgoing.record_response(incoming.status)
            yield BlockingResponseStream(incoming, request.open(incoming.status, incoming.headers))

    def admit(self, deadline: float = inf) -> None:
        """Wait until the rate permits a request. Raise `DeadlineExceeded` now if that is after the
        deadline."""
        if self.rate is None:
            return
        with self._count_lock:
            self.admission.check(self.rate, self.now(), deadline)
            self.admission.waiting += 1
        try:
            with self._turn:
                self.sleep_until(self.admission.next_at(self.rate, self.now()))
                self.admission.take(self.rate, self.now())
        finally:
            with self._count_lock:
                self.admission.waiting -= 1

    def sleep_until(self, deadline: float) -> None:
        """Wait until a time on this client's clock."""
        if (seconds := deadline - self.now()) > 0:
            self._sleep(seconds)

    def run(self, effects: Effects[T]) -> T:
        """Perform the effects of a generator; see `_effects`."""
        return drive_blocking(effects, self._perform)

    def now(self) -> float:
        """The time on this client's clock."""
        return self.clock()

    def _perform(self, effect: Effect) -> Any:
        match effect:
            case SendRequest(request, timeout, idle):
                return self._exchange(request, timeout, idle)
            case Admit(deadline):
                self.admit(deadline)
            case SleepUntil(deadline):
                self.sleep_until(deadline)
            case Follow():
                self._follow(effect)
        return None

    def _follow(self, effect: Follow) -> None:
        raise NotImplementedError  # `BlockingClient` implements it with the driver of the resync machine

    def _exchange(self, request: RawRequest, timeout: float | None, idle: float | None) -> CompleteResponse:
        # Not 0, which means "do not wait" for some sockets and "forever" for others.
        timeout = None if timeout is None else max(0.001, timeout)
        with (
            self.outgoing(request, self.transport) as outgoing,
            self.transport.send(outgoing.request, timeout=timeout, idle=idle) as incoming,
        ):
            outgoing.record_response(incoming.status)
            body = ResponseBody(request, incoming.status, self.limits, self.now())
            for chunk in incoming:
                if body.add(chunk, self.now()):
                    break
        return CompleteResponse(incoming.status, incoming.headers, body.content(), body.truncation)


class BlockingResponseStream(Generic[E]):
    """The response of a stream. Iterate over its events, a list for each chunk."""

    def __init__(self, incoming: BlockingIncomingResponse, decoder: Decoder[E]) -> None:
        self.status = incoming.status
        self.headers = incoming.headers
        self._incoming = incoming
        self._decoder = decoder

    def __iter__(self) -> Iterator[list[E]]:
        for chunk in self._incoming:
            if events := self._decoder.feed(chunk):
                yield events
        if events := self._decoder.finish():
            yield events
