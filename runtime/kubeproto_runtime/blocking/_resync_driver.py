"""`BlockingResyncDriver`: performs the actions of the resync machine, in the thread that attends to it.

    machine ── SendList, SendWatch ──► transport ──► decoder ──┬── objects ──► sink
       ▲                                                       │
       └─────────────── a summary of each chunk ───────────────┘

Nothing is decided here. A thread that reads cannot be cancelled, so `refresh` and `stop` do not wait for it:
the open exchange becomes stale, its read is aborted if the transport can do that (otherwise it ends when the
server sends something), and the thread that takes the next plan attends from then on. A thread that finds no
plan ends.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kubeproto import DeadlineExceeded, KubeObject, TransportError, WatchFailed
from kubeproto.watching import ListDecoder, WatchDecoder, resync
from kubeproto.wire import classify, is_enough

from ..calls._outcomes import OUTCOMES, outcome_of
from ..watching._exchanges import first_of
from ..watching._sinks import Planned, SinkDriver

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from kubeproto import Api, BlockingIncoming, Head, WatchEvent

    from ..calls._blocking_base_client import BlockingBaseClient
    from ..watching._sinks import Sink

K = TypeVar("K", bound=KubeObject)

_SETTINGS: Final = resync.Settings()


class BlockingResyncDriver(SinkDriver, Generic[K]):
    """Keeps one sink in step with the server while a thread attends.

    `selection` are parameters that list and watch share: selectors, and a shard. The sink is only called
    while `lock` is held. It ends at the time `until`, or once there is `enough`.
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
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        self._selection = selection or {}
        super().__init__(client.server, sink, settings, version, self._selection)
        self._client = client
        self._api = api
        self._lock = lock or RLock()
        self._until = until
        self._enough = enough
        self._exchange = 0
        self._reading: BlockingIncoming | None = None

    def attend(self) -> Generator[None]:
        """Send and read until this is stopped or another thread attends. Yield when something has arrived."""
        with self._lock:
            if isinstance(self.state, resync.Idle):
                self.state = self._server.known_to(self.state)
                self._advance(resync.Started())
        while not self._enough() and (taken := self._take()):
            planned, exchange = taken
            try:
                yield from self._perform(planned, exchange)
            except OUTCOMES as error:
                if self._client.clock() >= self._until:
                    return  # it ended because it has enough
                self._notify(exchange, resync.Failed(outcome_of(error)))
                yield  # a failure has arrived
            except BaseException:
                self._pause(exchange)
                raise

    def _pause(self, exchange: int) -> None:
        """Give up an exchange that failed on this side; the next thread that attends continues from there."""
        with self._lock:
            if exchange == self._exchange and not isinstance(self.state, resync.Idle | resync.Ended):
                self._advance(resync.Paused())

    def refresh(self) -> bool:
        """Relist. Return True if a thread must attend to that."""
        with self._lock:
            if not isinstance(self.state, resync.Idle | resync.Ended):
                self._advance(resync.Refreshed())
            return self._planned is not None

    def stop(self) -> None:
        """Stop: the thread that attends ends as soon as its read returns something."""
        with self._lock:
            if not isinstance(self.state, resync.Ended):
                self._advance(resync.Stopped())

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the last byte, the version, and why it is not in step."""
        with self._lock:
            return resync.sync_status(self.state, self._client.clock())

    def _take(self) -> tuple[Planned, int] | None:
        with self._lock:
            planned, self._planned = self._planned, None
            if planned is None:
                return None
            self._exchange += 1
            return planned, self._exchange

    def _notify(self, exchange: int, event: resync.Event, batch: list[Any] | None = None) -> bool:
        """Pass the outcome of an exchange to the machine.

        Return False if the exchange is over, or ends now.
        """
        with self._lock:
            if exchange != self._exchange:
                return False
            if isinstance(event, resync.Failed | resync.Closed | resync.Listed):
                self._exchange += 1
            self._advance(event, batch)
            return exchange == self._exchange

    def _advance(self, event: resync.Event, batch: list[Any] | None = None) -> None:
        self._step(event, [] if batch is None else batch, self._client.clock())

    def _drop(self) -> None:
        self._exchange += 1
        self._abort()

    def _perform(self, planned: Planned, exchange: int) -> Generator[None]:
        at = self._client.random.uniform(planned.at, planned.latest)
        self._client.sleep_until(min(at, self._until))
        if exchange != self._exchange or self._client.clock() >= self._until:
            return
        self._client.admit(self._until)
        if isinstance(planned, resync.SendList):
            yield from self._list(planned, exchange)
        else:
            yield from self._watch(planned, exchange)

    def _list(self, planned: resync.SendList, exchange: int) -> Generator[None]:
        request = self._api.list(
            resource_version=planned.version,
            resource_version_match="NotOlderThan" if planned.match else "",
            limit=planned.limit,
            continue_=planned.token,
            **self._selection,
        )
        first, timeout = "", self._within(planned.timeout)
        with self._open(exchange, request, planned.idle, timeout) as incoming:
            if exchange != self._exchange:
                return
            decoder = ListDecoder(self._api.kind, status=incoming.status, headers=incoming.headers)
            progress = _Progress(self._client.clock, request, incoming.status, planned.idle)
            for chunk in _read(incoming, progress):
                items = decoder.feed(chunk)
                progress.note(items)
                first = first or (first_of(items) if items else "")
                if not self._stage(exchange, items):
                    return
            items = decoder.finish()
            if not self._stage(exchange, items):
                return
        first = first or (first_of(items) if items else "")
        metadata = decoder.metadata
        self._notify(exchange, resync.Listed(metadata.resource_version, metadata.continue_, 0, first))
        yield

    def _stage(self, exchange: int, items: list[Any]) -> bool:
        if items and isinstance(last := items[-1], WatchFailed):
            return self._notify(exchange, resync.Failed(classify(last.status)))
        return self._notify(exchange, resync.Received(len(items)), items)

    def _watch(self, planned: resync.SendWatch, exchange: int) -> Generator[None]:
        seconds = self._client.random.randint(*planned.seconds)
        request = self._api.watch(
            resource_version=planned.version,
            send_initial_events=planned.initial or None,
            timeout_seconds=seconds,
            **self._selection,
        )
        timeout = self._within(seconds + planned.grace)
        with self._open(exchange, request, planned.idle, timeout) as incoming:
            if exchange != self._exchange:
                return
            # The sink keeps everything that arrives, so each line is read to its last byte at once.
            decoder = WatchDecoder(
                self._api.kind, status=incoming.status, headers=incoming.headers, checked=True
            )
            opened = 200 <= incoming.status < 300
            if opened:
                self._notify(exchange, resync.Opened())
            progress = _Progress(self._client.clock, request, incoming.status, planned.idle)
            for chunk in _read(incoming, progress):
                news = decoder.feed(chunk)
                progress.note(news)
                if not opened:
                    continue  # the reason of a refusal is known at its end
                going = self._digest(exchange, news)
                yield
                if not going:
                    return
            if self._digest(exchange, decoder.finish()):
                self._notify(exchange, resync.Closed())
        yield

    @contextmanager
    def _open(
        self, exchange: int, head: Head, idle: float | None, timeout: float | None
    ) -> Generator[BlockingIncoming]:
        """Send a request. Its read is aborted when it is cancelled, if the transport can."""
        client = self._client
        with ExitStack() as sending:
            with client.outgoing(head, client.transport) as sent:
                response = client.transport.send(sent.head, idle=idle, timeout=timeout)
                incoming = sending.enter_context(response)
                sent.responded(incoming.status)
            with self._lock:
                if exchange == self._exchange:
                    self._reading = incoming
            try:
                yield incoming
            finally:
                with self._lock:
                    if self._reading is incoming:
                        self._reading = None

    def _abort(self) -> None:
        """End the current read, which may be in another thread."""
        reading, self._reading = self._reading, None
        abort: Callable[[], None] | None = getattr(reading, "abort", None)
        if abort is not None:
            abort()

    def _within(self, seconds: float) -> float | None:
        """Return this many seconds, but not more than are left until `until`; None for no limit."""
        limit = min(seconds, max(self._until - self._client.clock(), 0.001))
        return None if limit == inf else limit

    def _digest(self, exchange: int, events: list[WatchEvent[K]]) -> bool:
        return all(self._notify(exchange, event, batch) for batch, event in resync.digest(events))


class _Progress:
    """When a response last made progress: its head, or an object. Bytes alone are no progress."""

    def __init__(self, clock: Callable[[], float], request: Head, status: int, idle: float | None) -> None:
        self.refused = not 200 <= status < 300
        self._clock = clock
        self._request = request
        self._status = status
        self._idle = idle
        self._last = clock()
        self._size = 0
        self._noted = True

    def note(self, news: list[Any]) -> None:
        """Note what a chunk has completed."""
        self._noted = bool(news)

    def ended(self, chunk: bytes) -> bool:
        """Return True if enough of a refusal was read; `DeadlineExceeded` if there is no progress."""
        now = self._clock()
        if self._noted:
            self._last = now
        self._size += len(chunk)
        if self.refused:
            return is_enough(self._status, self._size, now - self._last)
        if not self._noted and self._idle is not None and now - self._last >= self._idle:
            what = f"{self._request.method} {self._request.target.partition('?')[0]}"
            raise DeadlineExceeded(f"{what}: bytes came, and no object in {self._idle:g} s")
        return False


def _read(incoming: BlockingIncoming, progress: _Progress) -> Iterator[bytes]:
    """Yield the chunks of a response; for a refusal, those that arrived before it broke off."""
    try:
        for chunk in incoming:
            yield chunk
            if progress.ended(chunk):
                return
    except TransportError:
        if not progress.refused:
            raise
