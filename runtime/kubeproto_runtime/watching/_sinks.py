"""The common part of both resync drivers: the machine and its sink, which advance together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kubeproto.watching import resync

from ._sharding import keep, shard_of

if TYPE_CHECKING:
    from kubeproto.wire import Outcome

    from ..calls._attempts import ServerLimits

Planned: TypeAlias = resync.SendList | resync.SendWatch


class Sink(Protocol):
    """Takes what a `ResyncDriver` receives: events of a watch, objects of a list's page."""

    def stage(self, news: list[Any]) -> None:
        """Take a part of the next snapshot."""
        ...

    def apply(self, news: list[Any]) -> None:
        """Take changes of the snapshot that is shown."""
        ...

    def commit(self, version: str) -> None:
        """Show the next snapshot, which is complete, at this version."""
        ...

    def discard(self) -> None:
        """Forget the parts of a snapshot that will not be completed."""
        ...

    def report(self, failure: resync.SyncFailure) -> None:
        """Note that something went wrong; it is retried."""
        ...

    def abandon(self, outcome: Outcome) -> None:
        """The object to follow is gone, and nothing more will arrive."""
        ...


class SinkDriver:
    """Steps the machine and passes objects to its sink; the drivers send the requests."""

    def __init__(
        self,
        server: ServerLimits,
        sink: Sink,
        settings: resync.Settings,
        version: str,
        selection: dict[str, Any],
    ) -> None:
        self.state: resync.State = resync.begin(settings, version=version)
        self._server = server
        self._sink = sink
        self._shard = shard_of(selection)
        self._planned: Planned | None = None

    def _step(self, event: resync.Event, news: list[Any], now: float) -> None:
        before = self.state
        self.state, actions = resync.step(before, event, now)
        after = self.state
        try:
            for action in actions:
                self._act(action, news)
        except BaseException:
            # What the sink has not taken must be sent again, so the next watch starts at the version of the
            # sink, unless the sink itself has requested something else meanwhile.
            if self.state is after:
                self.state = before
            raise

    def _act(self, action: resync.Action, news: list[Any]) -> None:
        match action:
            case resync.Update(after):
                self._sink.apply(keep(self._shard, resync.newer(news, after)))
            case resync.Stage():
                self._sink.stage(keep(self._shard, news))
            case resync.SendList() | resync.SendWatch():
                self._plan(action)
            case resync.Replace(version):
                self._sink.commit(version)
            case resync.Discard():
                self._sink.discard()
            case resync.Close():
                self._planned = None
                self._drop()
            case resync.Report(failure):
                if not self._server.learn(failure):
                    self._sink.report(failure)
            case resync.Abandon(outcome):
                self._sink.abandon(outcome)

    def _plan(self, planned: Planned) -> None:
        self._planned = planned

    def _drop(self) -> None:
        """Give up the exchange that is open."""
        raise NotImplementedError
