"""`FollowStream`: the changes of the objects of a kind, as an iterator that never ends and survives failures.

It caches the objects that it returned. So after a gap it reports deleted objects with their last state, and
reports no change twice.

It runs only while a task iterates over it; between two steps it holds only an open response. If the consumer
is slow, the server ends the watch, and the next watch continues at the last version.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import anyio

from kubeproto import (
    Added,
    Bookmark,
    Deleted,
    InvalidObject,
    KubeObject,
    KubeprotoError,
    Malformed,
    Modified,
    to_plain,
)
from kubeproto.watching import resync
from kubeproto.wire import Refused

from ..calls._discovery import KindNotServed
from ..tasks._logged_lines import LoggedLines
from ._resync_driver import ResyncDriver

if TYPE_CHECKING:
    from typing import Self

    from kubeproto import Api, Resource
    from kubeproto.control import Change
    from kubeproto.wire import Outcome

    from ..calls._base_client import BaseClient

K = TypeVar("K", bound=KubeObject)
E = TypeVar("E")

FollowEvent: TypeAlias = Added[K] | Modified[K] | Deleted[K] | Bookmark | Malformed

_log: Final = logging.getLogger("kubeproto.watch")


class BaseFollowStream(Generic[K, E]):
    """The base of `FollowStream` and `FollowStreamWithFailures`."""

    def __init__(
        self,
        client: BaseClient,
        api: Api[K],
        *,
        waits_for_kind: bool,
        settings: resync.Settings,
        selection: dict[str, Any],
        strict: bool = False,
        failures: bool = False,
    ) -> None:
        from kubeproto.control import Store  # imported by those who watch, not by every script

        self._resource = api.resource
        self._store = Store(api.kind, resource=api.resource)
        self._waits_for_kind = waits_for_kind
        self._strict = strict
        self._failures = failures
        self._ready: deque[Change[K] | Bookmark | resync.SyncFailure] = deque()
        self._failure: KubeprotoError | None = None
        self._closed = False
        self._lines = LoggedLines()
        self._driver = ResyncDriver(client, api, self, settings=settings, selection=selection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        while not self._closed:
            if self._ready:
                event: Any = event_of(self._ready.popleft(), strict=self._strict)
                typed_event: E = event
                return typed_event
            if self._failure is not None:
                await self.aclose()
                raise self._failure
            self._driver.begin()
            try:
                await self._driver.advance()
            except BaseException:
                # A planned request remains planned. A new plan after each cancellation would delay it
                # forever: a consumer that waits for half a second at a time would restart each backoff of a
                # second.
                if not self._driver.waiting:
                    await self._driver.pause()
                raise
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop watching."""
        self._closed = True
        self._ready.clear()
        await self._driver.pause()

    @property
    def version(self) -> str:
        """The resource version of the last event."""
        return self._store.version

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The time of the last byte, the version, and the reason if the stream is out of sync."""
        return self._driver.sync_status

    # The sink of the resync driver

    def update(self, events: list[Any]) -> None:
        """Apply the events of a watch to the snapshot."""
        self._ready += self._store.update(events)

    def stage(self, items: list[Any]) -> None:
        """Add a part of the next snapshot."""
        warn_unnamed(_log, self._resource, self._store.stage(items))

    def replace(self, version: str) -> None:
        """Replace the snapshot with the staged one, which is complete at this version."""
        for change in self._store.replace(version):
            self._ready += split_replaced(change) if change.type == "MODIFIED" else (change,)
        self._ready.append(Bookmark(version, initial_events_end=True))

    def discard(self) -> None:
        """Drop the staged parts."""
        self._store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        """Log a failure. The request is retried."""
        level = self._lines.level(logging.WARNING, failure.text, anyio.current_time())
        _log.log(level, "%s: %s: %s", self._resource, failure.source, failure.text)
        if self._failures:
            self._ready.append(failure)
        missing = isinstance(failure.outcome, Refused) and failure.outcome.code == 404
        if missing and not (self._waits_for_kind or self._store.version):
            self._failure = KindNotServed(self._resource)

    def abandon(self, outcome: Outcome) -> None:
        """Log that the stream ends, which only happens if lists are not allowed."""
        _log.error("%s: the stream ends: %s", self._resource, outcome.reason)
        self._closed = True


class FollowStream(BaseFollowStream[K, FollowEvent[K]]):
    """Iterate over the changes of objects.

    ::

        async with books.follow() as events:
            async for event in events:
                match event: ...

    It begins with an `Added` for each existing object, followed by a `Bookmark`. Without ``async with``, a
    loop that exits early leaves the connection to the garbage collector.

    A cancelled call (``move_on_after`` around ``anext``) loses no event: the response is closed, and the next
    call continues at the same version. A list must fit into one call, so the timeout must be long enough.

    Failures are logged and retried forever. Only `KindNotServed` ends the iteration, if the server does not
    serve the kind and ``wait_for_definition`` is False. A malformed object is reported as `Malformed`. An
    object that does not fit its class raises `InvalidObject` when the invalid part is read; with
    ``strict=True`` it is reported as `Malformed` instead.
    """


class FollowStreamWithFailures(BaseFollowStream[K, "FollowEvent[K] | resync.SyncFailure"]):
    """A `FollowStream` that also reports each failure: ``follow(failures=True)``."""


def warn_unnamed(log: logging.Logger, resource: Resource, unnamed: list[Malformed]) -> None:
    """Log the items of a list that have no name and are therefore not cached."""
    if unnamed:
        log.warning(
            "%s: %d items of a list have no readable name and are skipped: %s",
            resource,
            len(unnamed),
            unnamed[0].error,
        )


def split_replaced(change: Change[K]) -> tuple[Change[K], ...]:
    """Return the changes of a name during a gap: a deletion and a creation if its object was replaced."""
    if not change.replaced:
        return (change,)
    from kubeproto.control import Change

    deleted = Change(change.kind, "DELETED", change.key, change.old, None, resource=change.resource)
    return deleted, Change(change.kind, "ADDED", change.key, None, change.new, resource=change.resource)


def event_of(
    change: Change[K] | Bookmark | resync.SyncFailure, *, strict: bool
) -> FollowEvent[K] | resync.SyncFailure:
    """Return the event of a change. With `strict`, decode its whole object now."""
    if isinstance(change, Bookmark | resync.SyncFailure):
        return change
    metadata = None
    try:
        obj = change.object
        metadata = obj.metadata
        if strict:
            to_plain(obj)  # the typed parts and the received text stay with the object
        match change.type:
            case "ADDED":
                return Added(obj)
            case "MODIFIED":
                return Modified(obj)
            case "DELETED":
                return Deleted(obj)
    except InvalidObject as error:
        entry = change.new or change.old
        return Malformed(metadata, error, b"" if entry is None else entry.raw, change.type)
