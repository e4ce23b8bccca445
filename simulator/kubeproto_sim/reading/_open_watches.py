"""`OpenWatches`: the open watches of a server, indexed by resource and namespace and by their next due time.

A write touches only the watches of its resource and namespace, and the clock touches only the watches with a
due action, so a thousand idle watches cost a write nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

from ..storage._storage import ResourceStorage
from ._watch_streams import Watch

_ALL_NAMESPACES: Final = ""
_MAX_STALE: Final = 64  # heap entries of ended watches; fewer are not worth a new heap


class OpenWatches:
    """The open watches of a server, in the order in which they were opened."""

    def __init__(self) -> None:
        self._open: dict[Watch, int] = {}
        self._opened = 0
        self._by_scope: dict[tuple[ResourceStorage, str], dict[Watch, None]] = {}
        # A heap of (due, number, watch). A watch has one entry; the entry of a watch that has ended is stale.
        self._heap: list[tuple[float, int, Watch]] = []

    def __iter__(self) -> Iterator[Watch]:
        return iter(tuple(self._open))

    def __len__(self) -> int:
        return len(self._open)

    def add(self, watch: Watch) -> None:
        """Add a watch that was opened; it is removed when it ends."""
        self._opened += 1
        self._open[watch] = self._opened
        self._by_scope.setdefault((watch.storage, watch.namespace), {})[watch] = None
        watch.on_end = self._discard
        self._schedule(watch)

    @property
    def next_due(self) -> float | None:
        """The next time at which a watch has something to do without a write; None if there is none."""
        entries = self._heap
        while entries and entries[0][2].ended:
            heapq.heappop(entries)
        return entries[0][0] if entries else None

    def tick(self, now: float) -> None:
        """Run the actions of each watch that are due by now, and wake its reader."""
        due_now = list[Watch]()
        while (due_time := self.next_due) is not None and due_time <= now:
            due_now.append(heapq.heappop(self._heap)[2])
        for watch in due_now:
            watch.tick()
            self._schedule(watch)
            if watch.wake:
                watch.wake()

    def wake(self, storage: ResourceStorage, namespace: str) -> None:
        """Wake the readers of watches of this resource, in this namespace or in all."""
        for scope in {namespace, _ALL_NAMESPACES}:
            for watch in tuple(self._by_scope.get((storage, scope), ())):
                if watch.wake:
                    watch.wake()

    def wake_all(self, storage: ResourceStorage | None = None) -> None:
        """Wake the readers of all watches, or of the watches of a resource."""
        for watch in self:
            if watch.wake and (storage is None or watch.storage is storage):
                watch.wake()

    def _schedule(self, watch: Watch) -> None:
        due_time = watch.next_due
        if due_time is not None:
            heapq.heappush(self._heap, (due_time, self._open[watch], watch))

    def _discard(self, watch: Watch) -> None:
        del self._open[watch]
        key = watch.storage, watch.namespace
        watches = self._by_scope[key]
        del watches[watch]
        if not watches:
            del self._by_scope[key]
        # Most watches end long before their deadline, and until then their entries would keep them in memory.
        if len(self._heap) > 2 * len(self._open) + _MAX_STALE:
            self._heap = [entry for entry in self._heap if not entry[2].ended]
            heapq.heapify(self._heap)
