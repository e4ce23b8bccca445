"""`BlockingBaseClient`: sends requests over a blocking transport; the verbs of a client are above it."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._attempts import RETRIES, TIMEOUT
from ._body_limits import LIMITS, BodyLimits, ResponseBody
from ._core import ClientCore, call, fetch
from ._effects import Admit, Follow, SendRequest, SleepUntil, WholeResponse, drive_blocking

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
    """Sends requests to one server, as one user, in threads: `call` and `open`."""

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

    def call(
        self,
        request: Request[T],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> Reply[T]:
        """Send a request and return its response, warnings included; or raise its `ApiError`.

        If an earlier attempt may have been carried out, its error is among the causes of the last one.
        """
        return self.run(call(self, request, timeout=timeout, retries=retries))

    def fetch(
        self,
        request: Request[Any],
        *,
        timeout: float | None = None,
        retries: RetryPolicy | None = None,
    ) -> tuple[int, Headers, bytes]:
        """Send a request and return its response without parsing it, also if it is a refusal."""
        return self.run(fetch(self, request, timeout=timeout, retries=retries))

    @contextmanager
    def open(
        self, request: StreamRequest[E], *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingStreamed[E]]:
        """Send a request whose response is a stream, and read it as it arrives. Nothing is retried."""
        self.admit()
        with ExitStack() as stack:
            with self.outgoing(request, self.transport) as sent:
                response = self.transport.send(sent.request, timeout=timeout, idle=idle)
                incoming = stack.enter_context(response)
                sent.responded(incoming.status)
            yield BlockingStreamed(incoming, request.open(incoming.status, incoming.headers))

    def admit(self, deadline: float = inf) -> None:
        """Wait until the rate permits a request; raise `DeadlineExceeded` at once if that is too late."""
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

    def run(self, effects: Effects[T]) -> T:
        """Run the logic of a client; see `_effects`."""
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
            case SleepUntil(at):
                self.sleep_until(at)
            case Follow():
                self._follow(effect)
        return None

    def _follow(self, effect: Follow) -> None:
        raise NotImplementedError  # `BlockingClient` implements it, with the driver of the resync machine

    def _exchange(self, request: RawRequest, timeout: float | None, idle: float | None) -> WholeResponse:
        # Not 0, which some sockets read as "do not wait at all" and others as "forever".
        timeout = None if timeout is None else max(0.001, timeout)
        with (
            self.outgoing(request, self.transport) as sent,
            self.transport.send(sent.request, timeout=timeout, idle=idle) as incoming,
        ):
            sent.responded(incoming.status)
            body = ResponseBody(request, incoming.status, self.limits, self.now())
            for chunk in incoming:
                if body.add(chunk, self.now()):
                    break
        return WholeResponse(incoming.status, incoming.headers, body.content(), body.truncation)


class BlockingStreamed(Generic[E]):
    """A streamed response: iterate over its events, a list for each chunk."""

    def __init__(self, incoming: BlockingIncomingResponse, decoder: Decoder[E]) -> None:
        self.status = incoming.status
        self.headers = incoming.headers
        self._incoming = incoming
        self._decoder = decoder

    def __iter__(self) -> Iterator[list[E]]:
        for chunk in self._incoming:
            if events := self._decoder.feed(chunk):
                yield events
        if rest := self._decoder.finish():
            yield rest
