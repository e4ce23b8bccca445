"""`ResyncDriver`: performs the actions of the resync machine, and passes objects to a sink.

    machine ── SendList, SendWatch ──► transport ──► decoder ──┬── objects ──► sink
       ▲                                                       │
       └─────────────── a summary of each chunk ───────────────┘

Nothing is decided here. It proceeds a chunk at a time: `advance` sends the request that is planned, or takes
the next chunk of the response that is open, so that a task can follow forever (`run`), or an iterator for as
long as its consumer wants more. No cancel scope is open between two steps.

A response that the machine gives up is closed, and the rest of it is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import KubeObject
from kubeproto.watching import resync

from ..calls._outcomes import OUTCOMES, outcome_of
from ._exchanges import End, ListExchange, PacedExchange, WatchExchange
from ._sinks import Planned, Sink, SinkDriver

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto import Api

    from ..calls._base_client import BaseClient

K = TypeVar("K", bound=KubeObject)

_SETTINGS: Final = resync.Settings()


class ResyncDriver(SinkDriver, Generic[K]):
    """Keeps one sink in step with the server while `run` runs, or `advance` is called.

    `selection` are parameters that list and watch share: selectors, and a shard. `on_live` is called when a
    watch begins to keep the sink in step, and when it no longer does.
    """

    def __init__(
        self,
        client: BaseClient,
        api: Api[K],
        sink: Sink,
        *,
        settings: resync.Settings = _SETTINGS,
        version: str = "",
        selection: dict[str, Any] | None = None,
        on_live: Callable[[], None] | None = None,
    ) -> None:
        self._selection = selection or {}
        self._on_live = on_live
        self._live = False
        super().__init__(client.server, sink, settings, version, self._selection)
        self._client = client
        self._api = api
        self._at = 0.0
        self._exchange: PacedExchange | None = None
        self._scope = anyio.CancelScope()
        self._busy = False
        self._telling = False

    async def run(self) -> None:
        """Follow until stopped or cancelled; after a cancellation it can be run again."""
        if self._busy:
            raise RuntimeError("this is being followed already")
        self._busy = True
        try:
            self.begin()
            while self.going:
                with anyio.CancelScope() as self._scope:
                    while self.going:
                        await self.advance()
        finally:
            self._busy = False
            await self.pause()

    def begin(self) -> None:
        """Plan the first request, or, after a pause, the one that continues from there."""
        if isinstance(self.state, resync.Idle):
            self.state = self._server.known_to(self.state)
            self._advance(resync.Started())

    @property
    def going(self) -> bool:
        """Whether there is anything to send, or to receive."""
        return self._planned is not None or self._exchange is not None

    async def advance(self) -> None:
        """Send the request that is planned, or take the next chunk of the response that is open."""
        try:
            if self._exchange is None:
                await self._ask()
            else:
                await self._receive(self._exchange)
        except OUTCOMES as error:
            await self._close(resync.Failed(outcome_of(error)), error)
        except BaseException as error:
            await self._close(None, error)
            raise

    @property
    def waiting(self) -> bool:
        """Whether the next request has a time, and nothing is open."""
        return self._planned is not None and self._exchange is None

    async def pause(self) -> None:
        """Close what is open. `begin` continues from here."""
        await self._close(None)
        if not isinstance(self.state, resync.Idle | resync.Ended):
            self._advance(resync.Paused())

    def refresh(self) -> None:
        """Relist; readers keep the old snapshot until the new one is complete."""
        if not isinstance(self.state, resync.Idle | resync.Ended):
            self._interrupt(resync.Refreshed())

    def stop(self) -> None:
        """Stop following: `run` returns."""
        if not isinstance(self.state, resync.Ended):
            self._interrupt(resync.Stopped())

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the last byte, the version, and why it is not in step."""
        return resync.sync_status(self.state, anyio.current_time())

    def _interrupt(self, event: resync.Event) -> None:
        """Pass an event from outside to the machine, and wake the task that waits for another."""
        within, before = self._telling, self.state
        self._advance(event)
        if not within and self.state is not before:
            self._scope.cancel()

    def _advance(self, event: resync.Event, batch: list[Any] | None = None) -> None:
        """Let the machine make a step, and perform its actions."""
        within, self._telling = self._telling, True
        try:
            self._step(event, [] if batch is None else batch, anyio.current_time())
        finally:
            self._telling = within
        if (live := isinstance(self.state, resync.Watching)) is not self._live:
            self._live = live
            if self._on_live is not None:
                self._on_live()

    def _plan(self, planned: Planned) -> None:
        # Drawn once: a wait that is cancelled continues for the same moment.
        self._planned = planned
        self._at = self._client.random.uniform(planned.at, planned.latest)

    def _drop(self) -> None:
        if self._exchange is not None:
            self._exchange.dropped = True

    async def _ask(self) -> None:
        planned = self._planned
        assert planned is not None
        await anyio.sleep_until(self._at)
        await self._client.admit()
        if self._planned is not planned:
            return  # an interrupt in the moment in which a wait ends has planned another one
        self._planned = None
        given = self._client, self._api
        if isinstance(planned, resync.SendList):
            self._exchange = ListExchange(*given, planned, self._selection, self._advance)
        else:
            self._exchange = WatchExchange(*given, planned, self._selection, self._advance)
        await self._exchange.open()

    async def _receive(self, exchange: PacedExchange) -> None:
        end = None if exchange.dropped else await exchange.receive()
        if end is not None or exchange.dropped:
            await self._close(end)

    async def _close(self, end: End | None, error: BaseException | None = None) -> None:
        """Leave the response that is open, and report its outcome, unless the machine has given it up."""
        exchange = self._exchange
        if exchange is None:
            return
        try:
            with anyio.CancelScope(shield=True):
                await exchange.close(error)
        except OUTCOMES as late:
            end = end and resync.Failed(outcome_of(late))
        finally:
            self._exchange = None
        if end is not None and not exchange.dropped:
            self._advance(end)
