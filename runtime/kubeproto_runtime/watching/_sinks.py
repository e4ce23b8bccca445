"""The common part of both resync drivers: the machine and its sink. If the sink fails, the machine rolls
back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kubeproto.watching import resync

from ._sharding import in_shard, shard_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto.wire import Outcome

    from ..calls._attempts import ServerLimits

Planned: TypeAlias = resync.SendList | resync.SendWatch


class Sink(Protocol):
    """Receives the objects and events of a `ResyncDriver`. The first four methods are those of a `Store`."""

    def update(self, events: list[Any]) -> object:
        """Apply the events of a watch to the snapshot."""
        ...

    def stage(self, items: list[Any]) -> object:
        """Add a part of the next snapshot: objects of a list's page, or events of a streaming list."""
        ...

    def replace(self, version: str) -> object:
        """Replace the snapshot with the staged one, which is complete at this version."""
        ...

    def discard(self) -> object:
        """Drop the staged parts."""
        ...

    def report(self, failure: resync.SyncFailure) -> None:
        """Report a failure. The request is retried."""
        ...

    def abandon(self, outcome: Outcome) -> None:
        """Report that following has ended, because its version has expired or was refused."""
        ...


class SinkDriver:
    """Steps the machine and passes objects to its sink; its subclasses send the requests.

    `on_live` is called when a watch begins to keep the sink in sync, and when that ends.
    """

    def __init__(
        self,
        server: ServerLimits,
        sink: Sink,
        settings: resync.Settings,
        version: str,
        selection: dict[str, Any] | None,
        on_live: Callable[[], None] | None = None,
    ) -> None:
        self.state: resync.State = resync.begin(settings, version=version)
        self._server = server
        self._sink = sink
        self._selection = selection or {}
        self._shard = shard_of(self._selection)
        self._on_live = on_live
        self._planned: Planned | None = None

    def _step(self, event: resync.Event, batch: list[Any], now: float) -> None:
        """Step the machine, and perform its actions on the objects or events that arrived with the event."""
        previous = self.state
        self.state, actions = resync.step(previous, event, now)
        state, sink = self.state, self._sink
        if self._shard is not None:
            batch = in_shard(self._shard, batch)
        try:
            for action in actions:
                match action:
                    case resync.Update(after):
                        sink.update(resync.newer(batch, after) if after else batch)
                    case resync.Stage():
                        sink.stage(batch)
                    case resync.Replace(version):
                        sink.replace(version)
                    case resync.Discard():
                        sink.discard()
                    case resync.SendList() | resync.SendWatch():
                        self._plan(action)
                    case resync.Close():
                        self._planned = None
                        self._drop()
                    case resync.Report(failure):
                        if not self._server.learn(failure):
                            sink.report(failure)
                    case resync.Abandon(outcome):
                        sink.abandon(outcome)
        except BaseException:
            # The server must resend the events that the sink has not processed. So the next watch starts
            # at the version of the sink, unless the sink itself has stepped the machine meanwhile.
            if self.state is state:
                self.state = previous
            raise
        if self._on_live is not None and isinstance(state, resync.Watching) is not isinstance(
            previous, resync.Watching
        ):
            self._on_live()

    def _plan(self, planned: Planned) -> None:
        self._planned = planned

    def _drop(self) -> None:
        """Abandon the open response."""
        raise NotImplementedError
