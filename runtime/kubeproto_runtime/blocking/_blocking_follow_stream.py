"""`BlockingFollowStream`: an endless iterator over the changes of objects, which retries all failures."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from kubeproto import Bookmark, KubeObject

from ..calls._discovery import KindNotServed
from ..watching._follow_stream import FollowEvent, event_of
from ._blocking_reflector import StoreSink, is_unknown_kind
from ._blocking_resync_driver import BlockingResyncDriver

if TYPE_CHECKING:
    from collections.abc import Generator

    from kubeproto import Api
    from kubeproto.control import Change
    from kubeproto.watching import resync

    from ..calls._blocking_base_client import BlockingBaseClient

K = TypeVar("K", bound=KubeObject)
E = TypeVar("E")


class BaseBlockingFollowStream(Generic[K, E]):
    """The base of `BlockingFollowStream` and `BlockingFollowStreamWithFailures`."""

    def __init__(
        self,
        client: BlockingBaseClient,
        api: Api[K],
        *,
        settings: resync.Settings,
        selection: dict[str, Any],
        wait_for_definition: bool = False,
        until: float = inf,
        strict: bool = False,
        failures: bool = False,
    ) -> None:
        self._resource = api.resource
        self._wait_for_definition = wait_for_definition
        self._strict = strict
        self._failures = failures
        self._ready: list[Any] = []
        self._sink = StoreSink(
            api,
            self._add_changes,
            clock=client.clock,
            on_snapshot=self._add_bookmark,
            on_failure=self._add_failure,
        )
        self._driver = BlockingResyncDriver(
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
        """The resource version that has been reached."""
        return self._sink.store.version

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The sync status: the time of the last byte, the version, and why it is out of sync."""
        return self._driver.sync_status

    def _run(self) -> Generator[E]:
        for _ in self._driver.drive():
            yield from self._ready
            self._ready.clear()

    def _add_changes(self, changes: list[Change[K]]) -> None:
        self._ready += (event_of(change, strict=self._strict) for change in changes)

    def _add_bookmark(self, version: str) -> None:
        self._ready.append(Bookmark(version, initial_events_end=True))

    def _add_failure(self, failure: resync.SyncFailure) -> None:
        if is_unknown_kind(failure) and not (self._wait_for_definition or self.version):
            raise KindNotServed(self._resource)
        if self._failures:
            self._ready.append(failure)


class BlockingFollowStream(BaseBlockingFollowStream[K, FollowEvent[K]]):
    """Iterate over the changes of objects. Use it as a context manager if the loop may exit early.

    ::

        with books.follow() as events:
            for event in events:
                match event: ...

    It begins with an `Added` for each existing object, followed by a `Bookmark`. It caches the objects as
    bytes: an object that was deleted while no watch was open is reported as `Deleted` with its last known
    state, and an unchanged object is not reported again.

    Failures are logged and retried forever. Only `KindNotServed` ends the iteration, if the server does not
    know the kind and ``wait_for_definition`` is False. A malformed object comes as `Malformed`; with
    ``strict=True`` so does an object that does not fit its class. Otherwise such an object raises
    `InvalidObject` when the part in question is read.
    """


class BlockingFollowStreamWithFailures(BaseBlockingFollowStream[K, "FollowEvent[K] | resync.SyncFailure"]):
    """The same with a `resync.SyncFailure` for each failure: ``follow(failures=True)``."""
