"""`Following`: performs what the resync machine says, and hands what it brings to a sink.

    machine ── SendList, SendWatch ──► transport ──► decoder ──┬── objects ──► sink
       ▲                                                       │
       └──────────────── a few words a chunk ──────────────────┘

Nothing is decided here. A request that the machine gives up is cancelled, and whatever still comes of it is
dropped. After each large chunk other tasks have their turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from kubeproto import ApiError, Failed, KubeObject, ListDecoder, RemoteProtocolError, TransportError
from kubeproto.watching import resync
from kubeproto.wire import classify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Api, Malformed, WatchEvent
    from kubeproto.wire import Failure, Outcome

    from ._client import Client

K = TypeVar("K", bound=KubeObject)

# What is decoded before other tasks have their turn: some milliseconds.
_SLICE: Final = 128 * 1024
# No list may be silent for longer than this.
_SILENCE: Final = 60.0

_SETTINGS: Final = resync.Settings()
_ENDPOINT: Final = resync.Endpoint()


class Sink(Protocol):
    """Takes what a `Following` brings: events of a watch, objects of a list's page."""

    def stage(self, news: list[Any]) -> None:
        """A part of a new world has come."""
        ...

    def apply(self, news: list[Any]) -> None:
        """The world has changed."""
        ...

    def commit(self, version: str) -> None:
        """The new world is whole, at this version."""
        ...

    def discard(self) -> None:
        """The new world will not be."""
        ...

    def report(self, trouble: resync.Trouble) -> None:
        """Something went wrong; it will be tried again."""
        ...

    def abandon(self, outcome: Outcome) -> None:
        """What was to be followed is gone, and nothing will come any more."""
        ...


class Following(Generic[K]):
    """Keeps one sink in step with the server while `run` runs.

    `selection` are parameters that list and watch share: selectors, and a shard.
    """

    def __init__(
        self,
        client: Client,
        api: Api[K],
        sink: Sink,
        *,
        settings: resync.Settings = _SETTINGS,
        endpoint: resync.Endpoint = _ENDPOINT,
        version: str = "",
        selection: dict[str, Any] | None = None,
    ) -> None:
        self.state: resync.State = resync.begin(settings, version=version, endpoint=endpoint)
        self._client = client
        self._api = api
        self._sink = sink
        self._selection = selection or {}
        self._planned: resync.SendList | resync.SendWatch | None = None
        self._scope = anyio.CancelScope()
        self._exchange = 0
        self._running = False

    async def run(self) -> None:
        """Follow until stopped or cancelled; a following that is cancelled can be run again."""
        if self._running:
            raise RuntimeError("this is being followed already")
        self._running = True
        try:
            self.tell(resync.Started())
            while (planned := self._planned) is not None:
                self._planned = None
                with anyio.CancelScope() as self._scope:
                    await self._perform(planned)
        finally:
            self._running = False
            if not isinstance(self.state, resync.Idle | resync.Ended):
                self.tell(resync.Paused())

    def refresh(self) -> None:
        """Build the world anew; readers keep the old one until then."""
        if not isinstance(self.state, resync.Idle | resync.Ended):
            self.tell(resync.Refreshed())

    def stop(self) -> None:
        """Want no more: `run` returns."""
        self.tell(resync.Stopped())

    @property
    def proof(self) -> resync.Proof:
        """The proof of life: the last byte, the version, and what keeps it from being in step."""
        return resync.proof(self.state, anyio.current_time())

    def tell(self, event: resync.Event, batch: list[Any] | None = None) -> None:
        """Let the machine make a step, and do what it says."""
        news: list[Any] = [] if batch is None else batch
        self.state, actions = resync.step(self.state, event, anyio.current_time())
        for action in actions:
            match action:
                case resync.Apply(after):
                    self._sink.apply(resync.newer(news, after))
                case resync.Stage():
                    self._sink.stage(news)
                case resync.SendList() | resync.SendWatch():
                    self._planned = action
                case resync.Commit(version):
                    self._sink.commit(version)
                case resync.Discard():
                    self._sink.discard()
                case resync.Close():
                    self._exchange += 1
                    self._planned = None
                    self._scope.cancel()
                case resync.Report(trouble):
                    self._sink.report(trouble)
                case resync.Abandon(outcome):
                    self._sink.abandon(outcome)

    async def _perform(self, planned: resync.SendList | resync.SendWatch) -> None:
        self._exchange += 1
        exchange = self._exchange
        await anyio.sleep_until(self._client.random.uniform(planned.at, planned.latest))
        try:
            if isinstance(planned, resync.SendList):
                await self._list(planned, exchange)
            else:
                await self._watch(planned, exchange)
        except (ApiError, TransportError, RemoteProtocolError) as error:
            self._fail(error, exchange)

    def _fail(self, failure: Failure, exchange: int) -> None:
        if exchange == self._exchange:
            self._exchange += 1
            self.tell(resync.Failed(classify(failure)))

    async def _list(self, planned: resync.SendList, exchange: int) -> None:
        request = self._api.list(
            resource_version=planned.version,
            resource_version_match="NotOlderThan" if planned.match else "",
            limit=planned.limit,
            continue_=planned.token,
            **self._selection,
        )
        await self._client.admit()
        async with self._client.transport.send(request, idle=_SILENCE) as incoming:
            decoder = ListDecoder(self._api.kind, status=incoming.status, headers=incoming.headers)
            async for chunk in incoming:
                for piece in _slices(chunk):
                    self._stage(decoder.feed(piece), exchange)
                    await checkpoint()
            self._stage(decoder.finish(), exchange)
        if exchange == self._exchange:
            self._exchange += 1
            metadata = decoder.metadata
            self.tell(resync.Listed(metadata.resource_version, metadata.continue_, 0))

    def _stage(self, items: list[K | Malformed | Failed], exchange: int) -> None:
        if items and isinstance(last := items[-1], Failed):
            self._fail(last.status, exchange)
        elif exchange == self._exchange:
            self.tell(resync.Received(len(items)), items)

    async def _watch(self, planned: resync.SendWatch, exchange: int) -> None:
        least, most = planned.seconds
        seconds = self._client.random.randint(least, most)
        request = self._api.watch(
            resource_version=planned.version,
            send_initial_events=planned.initial or None,
            timeout_seconds=seconds,
            **self._selection,
        )
        await self._client.admit()
        async with self._client.transport.send(
            request, idle=planned.idle, timeout=seconds + planned.grace
        ) as incoming:
            decoder = request.open(incoming.status, incoming.headers)
            opened = 200 <= incoming.status < 300
            if opened:
                self.tell(resync.Opened())
            async for chunk in incoming:
                if not opened:
                    decoder.feed(chunk)  # what a refusal says is known at its end
                elif len(chunk) > _SLICE:
                    for piece in _slices(chunk):
                        self._hear(decoder.feed(piece), exchange)
                        await checkpoint()
                else:
                    self._hear(decoder.feed(chunk), exchange)
                if exchange != self._exchange:
                    return
            if rest := decoder.finish():
                self._hear(rest, exchange)
        if exchange == self._exchange:
            self._exchange += 1
            self.tell(resync.Closed())

    def _hear(self, events: list[WatchEvent[K]], exchange: int) -> None:
        for batch, event in resync.digest(events):
            if exchange != self._exchange:
                return
            if isinstance(event, resync.Failed):
                self._exchange += 1
            self.tell(event, batch)


def _slices(chunk: bytes) -> Sequence[bytes]:
    if len(chunk) <= _SLICE:
        return (chunk,)
    return [chunk[at : at + _SLICE] for at in range(0, len(chunk), _SLICE)]
