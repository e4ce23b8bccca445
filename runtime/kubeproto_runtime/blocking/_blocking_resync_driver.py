"""`BlockingResyncDriver`: performs the actions of the resync machine, in the thread that calls `drive`.

    machine ── SendList, SendWatch ──► transport ──► decoder ──┬── objects ──► sink
       ▲                                                       │
       └─────────────── a summary of each chunk ───────────────┘

The driver makes no decisions. A thread that reads cannot be cancelled, so `refresh` and `stop` do not wait
for it. They make the open exchange stale, and abort its read if the transport supports that. Otherwise the
read ends when the server sends something. A thread that takes the next plan drives the machine from then on.
A thread that finds no plan ends.
"""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kubeproto import KubeObject, TransportError
from kubeproto.watching import resync

from ..calls._outcome_errors import OUTCOMES, outcome_of
from ..watching._resync_exchanges import ListExchange, Parts, ResyncExchange, WatchExchange
from ..watching._sinks import Planned, SinkDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kubeproto import Api, BlockingIncomingResponse

    from ..calls._blocking_base_client import BlockingBaseClient
    from ..watching._sinks import Sink

K = TypeVar("K", bound=KubeObject)

_SETTINGS: Final = resync.Settings()


class BlockingResyncDriver(SinkDriver, Generic[K]):
    """Keeps a sink in sync with the server while a thread is in `drive`.

    `selection` are parameters of both list and watch: selectors, and a shard. The sink is only called while
    `lock` is held. `drive` ends at the time `until`, or when `is_finished` returns True.
    """

    def __init__(
        self,
        client: BlockingBaseClient,
        api: Api[K],
        sink: Sink,
        *,
        settings: resync.Settings = _SETTINGS,
        version: str = "",
        selection: dict[str, Any] | None = None,
        lock: RLock | None = None,
        until: float = inf,
        is_finished: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(client.server, sink, settings, version, selection)
        self._client = client
        self._api = api
        self._lock = lock or RLock()
        self._until = until
        self._is_finished = is_finished
        self._number = 0  # of the current exchange; events of earlier exchanges are ignored
        self._reading: BlockingIncomingResponse | None = None

    def drive(self) -> Generator[None]:
        """Send and read until `stop`, or until another thread drives. Yield when something has arrived."""
        with self._lock:
            if isinstance(self.state, resync.Idle):
                self.state = self._server.apply_to(self.state)
                self._step(resync.Started(), [], self._client.clock())
        while not self._is_finished() and (plan := self._take_plan()):
            planned, number = plan
            try:
                yield from self._perform(planned, number)
            except OUTCOMES as error:
                if self._client.clock() >= self._until:
                    return  # the time limit ended the exchange
                self._notify(number, resync.Failed(outcome_of(error)))
                yield  # a failure has arrived
            except BaseException:
                self._pause(number)
                raise

    def _pause(self, number: int) -> None:
        """Give up an exchange that this side ended; the next thread that drives continues from its
        version."""
        with self._lock:
            if number == self._number and not isinstance(self.state, resync.Idle | resync.Ended):
                self._step(resync.Paused(), [], self._client.clock())

    def refresh(self) -> bool:
        """Relist. Return True if a thread must call `drive` for that."""
        with self._lock:
            if not isinstance(self.state, resync.Idle | resync.Ended):
                self._step(resync.Refreshed(), [], self._client.clock())
            return self._planned is not None

    def stop(self) -> None:
        """Stop following: `drive` returns as soon as its read returns something."""
        with self._lock:
            if not isinstance(self.state, resync.Ended):
                self._step(resync.Stopped(), [], self._client.clock())

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the time of the last byte, the version, and why it is out of sync."""
        with self._lock:
            return resync.sync_status(self.state, self._client.clock())

    def _take_plan(self) -> tuple[Planned, int] | None:
        """Return the planned request, and the number of its exchange; None if nothing is planned."""
        with self._lock:
            planned, self._planned = self._planned, None
            if planned is None:
                return None
            self._number += 1
            return planned, self._number

    def _notify(self, number: int, event: resync.Event, batch: list[Any] | None = None) -> bool:
        """Step the machine with an event of an exchange.

        Return False if the exchange is over, or ends now.
        """
        with self._lock:
            if number != self._number:
                return False
            self._step(event, [] if batch is None else batch, self._client.clock())
            if isinstance(event, resync.Failed | resync.Closed | resync.Listed):
                self._number += 1  # after the step: if the sink fails, that is the outcome of this exchange
            return number == self._number

    def _drop(self) -> None:
        self._number += 1
        self._abort()

    def _perform(self, planned: Planned, number: int) -> Generator[None]:
        send_at = self._client.random.uniform(planned.earliest, planned.latest)
        self._client.sleep_until(min(send_at, self._until))
        if number != self._number or self._client.clock() >= self._until:
            return
        self._client.admit(self._until)
        exchange: ResyncExchange
        if isinstance(planned, resync.SendList):
            exchange = ListExchange(self._api, planned, self._selection)
        else:
            seconds = self._client.random.randint(*planned.seconds)
            exchange = WatchExchange(self._api, planned, self._selection, seconds)
        outcome: resync.Event | None = None
        with closing(self._receive(exchange, number)) as response:
            for parts in response:
                is_current = True
                for batch, event in parts:
                    if isinstance(event, resync.Listed | resync.Closed | resync.Failed):
                        outcome = event
                    else:
                        is_current = is_current and self._notify(number, event, batch)
                if outcome is not None:
                    break
                if not exchange.refused:
                    yield
                if not is_current:
                    return
        if outcome is not None:  # reported after the response has been closed
            self._notify(number, outcome)
        yield

    def _receive(self, exchange: ResyncExchange, number: int) -> Generator[Parts]:
        """Send the request of an exchange, yield the parts of its response, and close it."""
        clock = self._client.clock
        with self._open(exchange, number) as incoming:
            if number != self._number:
                return
            yield exchange.open(incoming.status, incoming.headers, clock())
            try:
                for chunk in incoming:
                    parts = exchange.feed(chunk)
                    if end := exchange.check_progress(clock()):
                        yield [*parts, *end]
                        return
                    yield parts
            except TransportError:
                if not exchange.refused:
                    raise
            # The received part of an error response contains the reason, even if the rest is lost.
            yield exchange.finish()

    @contextmanager
    def _open(self, exchange: ResyncExchange, number: int) -> Generator[BlockingIncomingResponse]:
        """Send a request, and register its response for `_abort`."""
        client = self._client
        timeout = self._limit_timeout(exchange.timeout)
        with ExitStack() as stack:
            with client.outgoing(exchange.request, client.transport) as outgoing:
                response = client.transport.send(outgoing.request, idle=exchange.idle, timeout=timeout)
                incoming = stack.enter_context(response)
                outgoing.record_response(incoming.status)
            with self._lock:
                if number == self._number:
                    self._reading = incoming
            try:
                yield incoming
            finally:
                with self._lock:
                    if self._reading is incoming:
                        self._reading = None

    def _abort(self) -> None:
        """Abort the current read, which may be in another thread, if the transport supports that."""
        stream, self._reading = self._reading, None
        abort: Callable[[], None] | None = getattr(stream, "abort", None)
        if abort is not None:
            abort()

    def _limit_timeout(self, seconds: float) -> float | None:
        """Return this timeout, but at most the time until `until`; None for no limit."""
        limit = min(seconds, max(self._until - self._client.clock(), 0.001))
        return None if limit == inf else limit
