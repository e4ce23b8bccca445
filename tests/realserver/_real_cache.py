"""A cache of books on the real server that checks the order of every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kubeproto as kp
from kubeproto.control import Change, Store, key_of
from kubeproto.watching import resync
from kubeproto.wire import Outcome
from kubeproto_runtime import Client
from kubeproto_runtime.watching import ResyncDriver


class BookSpec(kp.Fields):
    title: str
    pages: int = 1


class Book(kp.Object[BookSpec, None], group="real.kubeproto.test", version="v1", plural="books"):
    """A book."""


def book(name: str, title: str = "", **metadata: Any) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name, **metadata), spec=BookSpec(title=title or name))


class Cache:
    """Follows the books of a namespace, and raises AssertionError for an event out of order."""

    def __init__(
        self,
        client: Client,
        books: kp.Api[Book],
        *,
        settings: resync.Settings,
        staged: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = Store(Book)
        self.changes: list[Change[Book]] = []
        self.troubles: list[resync.SyncFailure] = []
        self.snapshots = 0
        self.events = 0
        self._staged = staged
        self._reached = 0
        self._driver = ResyncDriver(client, books, self, settings=settings)

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._driver.run()

    @property
    def watching(self) -> bool:
        """Return whether a watch is open."""
        return isinstance(self._driver.state, resync.Watching)

    def snapshot(self) -> dict[str, str]:
        """Return the names and versions that readers see."""
        return {key: entry.version for key, entry in self.store.entries().items()}

    def take_changes(self) -> list[tuple[str, str]]:
        """Return the changes since the last call: kind of change and name."""
        changes, self.changes = self.changes, []
        return [(change.type, change.key.rpartition("/")[2]) for change in changes]

    # Methods of the sink.

    def stage(self, items: list[Any]) -> None:
        self.store.stage(items)
        self._staged()

    def update(self, events: list[Any]) -> None:
        for event in events:
            self._check(event)
            self.changes += self.store.update([event])
            self.events += 1

    def replace(self, version: str) -> None:
        self.snapshots += 1
        assert int(version) >= self._reached, f"a new snapshot at {version}, after {self._reached}"
        self._reached = int(version)
        self.changes += self.store.replace(version)

    def discard(self) -> None:
        self.store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        self.troubles.append(failure)

    def abandon(self, outcome: Outcome) -> None:
        raise AssertionError(f"nothing here is only followed, and yet: {outcome}")

    def _check(self, event: kp.WatchEvent[Book]) -> None:
        match event:
            case kp.Added(obj) | kp.Modified(obj) | kp.Deleted(obj):
                name, version = obj.metadata.name, int(obj.metadata.resource_version)
                cached = self.store.entry(key_of(name, obj.metadata.namespace))
                assert (cached is None) == isinstance(event, kp.Added), f"{event} while there is {cached}"
                assert version > self._reached, f"{event} after {self._reached}"
            case kp.Bookmark(bookmark_version):
                version = int(bookmark_version)
                assert version >= self._reached, f"{event} after {self._reached}"
            case _:
                raise AssertionError(f"{event} in a stream of good events")
        self._reached = version
