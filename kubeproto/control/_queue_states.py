"""Where keys wait until they are handed out: a FIFO for those that are ready, a heap for the delayed ones.

Their elements are `QueuedKey`s, each of which knows where it is. One that leaves out of turn remains as a
stale entry, is skipped when it comes to the front, and is swept out once more than half of the entries are
stale: so each step costs O(1) in the FIFO and O(log n) in the heap, amortized, and dropped keys are not held
for long.
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

# Sweeping a few stale entries costs more than keeping them.
FEW: Final = 64


class KeyState(IntEnum):
    """Where an entry is."""

    NOWHERE = 0  # handed out, replaced by another entry, or dropped
    HELD = 1  # its key is running; it is placed when that is done
    DELAYED = 2
    DUE = 3


# Read in every step; a name in this module costs less than an attribute of the enum.
NOWHERE: Final = KeyState.NOWHERE
HELD: Final = KeyState.HELD
DELAYED: Final = KeyState.DELAYED
DUE: Final = KeyState.DUE


class QueuedKey(Struct, Generic[Key], order=True, gc=False):
    """A request to hand out a key at a time.

    It is ordered by that time, then by arrival: `turn` is different in every entry that meets another in the
    heap. `exact` is the earliest requested time, `since` the first event of a burst that is being waited out;
    infinity if there is none. While its key runs, `at` is when the run began, and infinity after a run that
    keeps its key.
    """

    at: float
    turn: int
    key: Key
    priority: int
    reason: str
    place: KeyState
    exact: float
    since: float


class Work(Struct, Generic[Key], frozen=True, gc=False):
    """A key to work on: the number of the attempt, 1 if nothing has failed, and since when it was due."""

    key: Key
    attempt: int
    priority: int
    reason: str
    at: float


class ReadyQueue(Generic[Key]):
    """The due keys of one priority, first come, first served."""

    __slots__ = ("_entries", "_stale", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self._entries: deque[QueuedKey[Key]] = deque()
        self._stale = 0

    def __len__(self) -> int:
        return len(self._entries) - self._stale

    def append(self, entry: QueuedKey[Key]) -> None:
        """Add an entry at the end."""
        self._entries.append(entry)

    def first(self) -> QueuedKey[Key] | None:
        """Return the entry at the front."""
        entries = self._entries
        while entries:
            if self._is_current(entries[0]):
                return entries[0]
            entries.popleft()
            self._stale -= 1
        return None

    def pop(self) -> QueuedKey[Key]:
        """Remove and return the entry at the front; there is one."""
        entry = self._entries.popleft()
        while self._stale and not self._is_current(entry):
            self._stale -= 1
            entry = self._entries.popleft()
        return entry

    def leave(self) -> None:
        """Note that an entry has left out of turn; its own state shows where it is now."""
        self._stale += 1
        if self._stale > FEW and self._stale * 2 > len(self._entries):
            current = [entry for entry in self._entries if self._is_current(entry)]
            self._entries.clear()
            self._entries.extend(current)
            self._stale = 0

    def _is_current(self, entry: QueuedKey[Key]) -> bool:
        # A priority is only ever raised, so an entry that left this FIFO does not come back to it.
        return entry.place is DUE and entry.priority == self.priority


class DelayHeap(Generic[Key]):
    """The keys that are not due yet, earliest first. None of them is due before `soonest`."""

    __slots__ = ("_heap", "_stale", "soonest")

    def __init__(self) -> None:
        self.soonest = inf
        self._heap: list[QueuedKey[Key]] = []
        self._stale = 0

    def push(self, entry: QueuedKey[Key]) -> None:
        """Add an entry."""
        heappush(self._heap, entry)
        self.soonest = self._heap[0].at

    def leave(self) -> None:
        """Note that an entry has left; its own state shows where it is now."""
        self._stale += 1
        if self._stale > FEW and self._stale * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry.place is DELAYED]
            heapify(self._heap)
            self._stale = 0

    def next_at(self) -> float | None:
        """Return when the first entry is due."""
        heap = self._heap
        while heap and heap[0].place is not DELAYED:
            heappop(heap)
            self._stale -= 1
        self.soonest = heap[0].at if heap else inf
        return heap[0].at if heap else None

    def pop(self, now: float) -> list[QueuedKey[Key]]:
        """Remove and yield those that have become due, in the order of their times."""
        heap, expired = self._heap, list[QueuedKey[Key]]()
        while heap and heap[0].at <= now:
            entry = heappop(heap)
            if entry.place is DELAYED:
                expired.append(entry)
            else:
                self._stale -= 1
        self.soonest = heap[0].at if heap else inf
        return expired

    def clear(self) -> list[QueuedKey[Key]]:
        """Remove all of them."""
        waiting = [entry for entry in self._heap if entry.place is DELAYED]
        self.soonest, self._heap, self._stale = inf, [], 0
        return waiting
