"""The containers of a `WorkQueue`: a FIFO of ready keys for each priority, and a heap of delayed keys.

Their elements are `QueuedKey`s, each of which records its own state. An element that is removed out of order
stays in its container as a stale entry. It is skipped at the front, and the container is compacted when more
than half of its entries are stale. So each step costs O(1) in the FIFO and O(log n) in the heap, amortized,
and the memory of removed keys is freed soon.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from enum import IntEnum
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final, Generic, TypeVar

from msgspec import Struct

Key = TypeVar("Key", bound=Hashable)

# Below this number, compacting costs more than the memory of the stale entries.
MAX_STALE: Final = 64


class KeyState(IntEnum):
    """Where a `QueuedKey` is."""

    REMOVED = 0  # handed out, dropped, or replaced by another entry
    BLOCKED = 1  # its key is running or held
    DELAYED = 2
    READY = 3


# Module constants because every step reads them: an attribute of the enum costs more.
REMOVED: Final = KeyState.REMOVED
BLOCKED: Final = KeyState.BLOCKED
DELAYED: Final = KeyState.DELAYED
READY: Final = KeyState.READY


class QueuedKey(Struct, Generic[Key], order=True, gc=False):
    """A request to hand out a key at a time, ordered by that time and then by arrival.

    `turn` is the number of the arrival; no two entries in the heap have the same. `exact` is the earliest
    time that was requested explicitly, `since` the first event of a debounced burst; both are infinity if
    there is none. While the key runs, `ready_at` is the time at which the run began, and infinity while the
    key is held after the run.
    """

    ready_at: float
    turn: int
    key: Key
    priority: int
    reason: str
    state: KeyState
    exact: float
    since: float


class Work(Struct, Generic[Key], frozen=True, gc=False):
    """A key to work on, since when it is ready, and the number of the attempt: 1 after no failure."""

    key: Key
    attempt: int
    priority: int
    reason: str
    ready_at: float


class ReadyQueue(Generic[Key]):
    """The ready keys of one priority, in the order of their arrival."""

    __slots__ = ("_entries", "_stale", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self._entries: deque[QueuedKey[Key]] = deque()
        self._stale = 0

    def __len__(self) -> int:
        return len(self._entries) - self._stale

    def append(self, entry: QueuedKey[Key]) -> None:
        self._entries.append(entry)

    def first(self) -> QueuedKey[Key] | None:
        """Return the first entry, or None."""
        entries = self._entries
        while entries:
            if self._is_current(entries[0]):
                return entries[0]
            entries.popleft()
            self._stale -= 1
        return None

    def pop(self) -> QueuedKey[Key]:
        """Remove and return the first entry; the queue must not be empty."""
        entry = self._entries.popleft()
        while self._stale and not self._is_current(entry):
            self._stale -= 1
            entry = self._entries.popleft()
        return entry

    def mark_stale(self) -> None:
        """Count an entry that was removed out of order; its state or priority has changed already."""
        self._stale += 1
        if self._stale > MAX_STALE and self._stale * 2 > len(self._entries):
            current = [entry for entry in self._entries if self._is_current(entry)]
            self._entries.clear()
            self._entries.extend(current)
            self._stale = 0

    def _is_current(self, entry: QueuedKey[Key]) -> bool:
        # Priorities are only raised, so an entry that was moved out of this FIFO never returns to it.
        return entry.state is READY and entry.priority == self.priority


class DelayHeap(Generic[Key]):
    """The delayed keys, earliest first. No key becomes ready before `next_ready_at`."""

    __slots__ = ("_heap", "_stale", "next_ready_at")

    def __init__(self) -> None:
        self.next_ready_at = inf
        self._heap: list[QueuedKey[Key]] = []
        self._stale = 0

    def push(self, entry: QueuedKey[Key]) -> None:
        heappush(self._heap, entry)
        self.next_ready_at = self._heap[0].ready_at

    def mark_stale(self) -> None:
        """Count an entry that was removed; its state has changed already."""
        self._stale += 1
        if self._stale > MAX_STALE and self._stale * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry.state is DELAYED]
            heapify(self._heap)
            self._stale = 0

    def drop_stale(self) -> float | None:
        """Remove stale entries from the front; return the time of the first entry."""
        heap = self._heap
        while heap and heap[0].state is not DELAYED:
            heappop(heap)
            self._stale -= 1
        self.next_ready_at = heap[0].ready_at if heap else inf
        return heap[0].ready_at if heap else None

    def pop(self, now: float) -> list[QueuedKey[Key]]:
        """Remove and return the entries whose time has come, in the order of their times."""
        heap, expired = self._heap, list[QueuedKey[Key]]()
        while heap and heap[0].ready_at <= now:
            entry = heappop(heap)
            if entry.state is DELAYED:
                expired.append(entry)
            else:
                self._stale -= 1
        self.next_ready_at = heap[0].ready_at if heap else inf
        return expired

    def clear(self) -> list[QueuedKey[Key]]:
        """Remove and return all entries."""
        delayed = [entry for entry in self._heap if entry.state is DELAYED]
        self.next_ready_at, self._heap, self._stale = inf, [], 0
        return delayed
