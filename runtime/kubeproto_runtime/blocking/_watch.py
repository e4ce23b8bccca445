"""`BlockingFollowed`: the events of one kind forever, as an iterator that survives all failures."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from kubeproto import Bookmark, KubeObject

from ..calls._discovery import KindNotServed
from ..watching._follow_stream import FollowEvent, event_of
from ._reflector import StoreSink, is_unknown
from ._resync_driver import BlockingResyncDriver

if TYPE_CHECKING:
    from collections.abc import Generator

    from kubeproto import Api
    from kubeproto.control import Change
    from kubeproto.watching import resync

    from ..calls._blocking_base_client import BlockingBaseClient

K = TypeVar("K", bound=KubeObject)
E = TypeVar("E")


class BlockingFollowedEvents(Generic[K, E]):
    """What `BlockingFollowed` and `BlockingFollowedWithFailures` share."""

    def __init__(
        self,
        client: BlockingBaseClient,
        api: Api[K],
        *,
        settings: resync.Settings,
        selection: dict[str, Any],
        patient: bool = False,
        until: float = inf,
        strict: bool = False,
        failures: bool = False,
    ) -> None:
        self._resource = api.resource
        self._patient = patient
        self._strict = strict
        self._failures = failures
        self._ready: list[Any] = []
        self._sink = StoreSink(
            api, self._changed, clock=client.clock, whole=self._whole, troubled=self._report_failure
        )
        self._following = BlockingResyncDriver(
            client, api, self._sink, settings=settings, selection=selection, until=until
        )
        self._events = self._run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> E:
        return next(self._events)

    def close(self) -> None:
        """Stop watching."""
        self._events.close()

    @property
    def version(self) -> str:
        """The resource version that it has reached."""
        return self._sink.store.version

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the last byte, the version, and why it is not in step."""
        return self._following.sync_status

    def _run(self) -> Generator[E]:
        for _ in self._following.attend():
            yield from self._ready
            self._ready.clear()

    def _changed(self, changes: list[Change[K]]) -> None:
        self._ready += (event_of(change, strict=self._strict) for change in changes)

    def _whole(self, version: str) -> None:
        self._ready.append(Bookmark(version, initial_events_end=True))

    def _report_failure(self, failure: resync.SyncFailure) -> None:
        if is_unknown(failure) and not (self._patient or self.version):
            raise KindNotServed(self._resource)
        if self._failures:
            self._ready.append(failure)


class BlockingFollowed(BlockingFollowedEvents[K, FollowEvent[K]]):
    """Iterate over the changes of objects; use it as a context if the loop may be left early.

    ::

        with books.follow() as events:
            for event in events:
                match event: ...

    It begins with an `Added` for each existing object, and a `Bookmark` says when that is all. It keeps the
    objects as bytes: one that was deleted while no watch was open comes as `Deleted`, with its last known
    state, and one that did not change does not come again.

    What goes wrong is logged and retried forever. Only a kind that the server does not know ends it with
    `KindNotServed`, unless it is `patient`. What is not an object comes as `Malformed`; with ``strict=True``
    so does one that does not fit its class, which otherwise raises `InvalidObject` when the part in question
    is read.
    """


class BlockingFollowedWithFailures(BlockingFollowedEvents[K, "FollowEvent[K] | resync.SyncFailure"]):
    """The same with a `resync.SyncFailure` for each thing that goes wrong: ``follow(failures=True)``."""
