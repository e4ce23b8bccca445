"""`OpenWatches`: the open watches of a server, found by what they watch and by when they act.

A write wakes the watches of its resource and namespace and looks at no others, and when time passes only the
watches with something due are looked at: a thousand idle watches cost a write nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

from ..storage._storage import ResourceStorage
from ._watch_streams import Watch

_EVERYWHERE: Final = ""  # the namespace of a watch of all namespaces
_FEW: Final = 64  # stale entries that are not worth a new heap


class OpenWatches:
    """The open watches of one server, in the order in which they were opened."""

    def __init__(self) -> None:
        self._open: dict[Watch, int] = {}
        self._opened = 0
        self._by_place: dict[tuple[ResourceStorage, str], dict[Watch, None]] = {}
        # A heap of (due, number, watch). A watch has one entry; the entry of a watch that has ended is stale.
        self._due: list[tuple[float, int, Watch]] = []

    def __iter__(self) -> Iterator[Watch]:
        return iter(tuple(self._open))

    def __len__(self) -> int:
        return len(self._open)

    def add(self, watch: Watch) -> None:
        """Add a watch that was opened; it is removed when it ends."""
        self._opened += 1
        self._open[watch] = self._opened
        self._by_place.setdefault((watch.storage, watch.namespace), {})[watch] = None
        watch.on_end = self._discard
        self._schedule(watch)

    @property
    def due(self) -> float | None:
        """The next time at which something happens by itself; None if nothing will."""
        entries = self._due
        while entries and entries[0][2].ended:
            heapq.heappop(entries)
        return entries[0][0] if entries else None

    def tick(self, now: float) -> None:
        """Let each watch do what is due by now, and wake its reader."""
        due_now = list[Watch]()
        while (due := self.due) is not None and due <= now:
            due_now.append(heapq.heappop(self._due)[2])
        for watch in due_now:
            watch.tick()
            self._schedule(watch)
            if watch.wake:
                watch.wake()

    def wake(self, storage: ResourceStorage, namespace: str) -> None:
        """Wake the readers of watches of this resource, in this namespace or in all."""
        for place in {namespace, _EVERYWHERE}:
            for watch in tuple(self._by_place.get((storage, place), ())):
                if watch.wake:
                    watch.wake()

    def wake_all(self, storage: ResourceStorage | None = None) -> None:
        """Wake the readers of all watches, or of those of one resource."""
        for watch in self:
            if watch.wake and (storage is None or watch.storage is storage):
                watch.wake()

    def _schedule(self, watch: Watch) -> None:
        due = watch.due
        if due is not None:
            heapq.heappush(self._due, (due, self._open[watch], watch))

    def _discard(self, watch: Watch) -> None:
        del self._open[watch]
        place = watch.storage, watch.namespace
        there = self._by_place[place]
        del there[watch]
        if not there:
            del self._by_place[place]
        # Most watches end long before their time: their entries would hold them in memory until then.
        if len(self._due) > 2 * len(self._open) + _FEW:
            self._due = [entry for entry in self._due if not entry[2].ended]
            heapq.heapify(self._due)
