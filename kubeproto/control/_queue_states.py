"""Where keys stand until their turn comes: lines for those that are ready, a heap for those that are delayed.

What stands in a line or in the heap is a `QueuedKey`, which says itself where it stands. One that leaves out
of turn stays behind as a stale entry, is skipped when it comes to the front, and is swept out once stale
entries are more than half: so each step costs O(1) in a line and O(log n) in the heap, taken over time, and
what is gone is not held for long.
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

# Sweeping a few husks costs more than keeping them.
FEW: Final = 64


class KeyState(IntEnum):
    """Where a wish stands."""

    NOWHERE = 0  # handed out, moved to another wish, or dropped
    HELD = 1  # its key is running; it finds its place when that is done
    DELAYED = 2
    DUE = 3


# Read in every step; a name in this module costs less than an attribute of the enum.
NOWHERE: Final = KeyState.NOWHERE
HELD: Final = KeyState.HELD
DELAYED: Final = KeyState.DELAYED
DUE: Final = KeyState.DUE


class QueuedKey(Struct, Generic[Key], order=True, gc=False):
    """A key that somebody wants to see handed out at a time.

    It is ordered by that time, then by who came first: `turn` is different in every wish that meets another
    in the heap. `exact` is the earliest time that was asked for, `since` the first event of a burst that is
    being waited out; infinity where there is none.
    """

    at: float
    turn: int
    key: Key
    priority: int
    reason: str
    place: KeyState
    exact: float
    since: float


class ReadyQueue(Generic[Key]):
    """The due keys of one priority, first come, first served."""

    __slots__ = ("_husks", "_wishes", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self._wishes: deque[QueuedKey[Key]] = deque()
        self._husks = 0

    def __len__(self) -> int:
        return len(self._wishes) - self._husks

    def append(self, wish: QueuedKey[Key]) -> None:
        """Stand at the end."""
        self._wishes.append(wish)

    def first(self) -> QueuedKey[Key] | None:
        """Who stands at the front."""
        wishes = self._wishes
        while wishes:
            if self._stands(wishes[0]):
                return wishes[0]
            wishes.popleft()
            self._husks -= 1
        return None

    def pop(self) -> QueuedKey[Key]:
        """Whoever stands at the front goes; there is somebody."""
        wish = self._wishes.popleft()
        while not self._stands(wish):
            self._husks -= 1
            wish = self._wishes.popleft()
        return wish

    def leave(self) -> None:
        """One of those who stand here has gone out of turn: it says itself that it stands elsewhere."""
        self._husks += 1
        if self._husks > FEW and self._husks * 2 > len(self._wishes):
            self._wishes = deque(wish for wish in self._wishes if self._stands(wish))
            self._husks = 0

    def _stands(self, wish: QueuedKey[Key]) -> bool:
        # A priority only ever rises, so a wish that left this line does not come back to it.
        return wish.place is DUE and wish.priority == self.priority


class DelayHeap(Generic[Key]):
    """The keys that are not due yet, earliest first. None of them is due before `soonest`."""

    __slots__ = ("_heap", "_husks", "soonest")

    def __init__(self) -> None:
        self.soonest = inf
        self._heap: list[QueuedKey[Key]] = []
        self._husks = 0

    def push(self, wish: QueuedKey[Key]) -> None:
        """Wait here."""
        heappush(self._heap, wish)
        self.soonest = self._heap[0].at

    def leave(self) -> None:
        """One of those who wait here has gone: it says itself that it is elsewhere."""
        self._husks += 1
        if self._husks > FEW and self._husks * 2 > len(self._heap):
            self._heap = [wish for wish in self._heap if wish.place is DELAYED]
            heapify(self._heap)
            self._husks = 0

    def next_at(self) -> float | None:
        """When the first of them is due."""
        heap = self._heap
        while heap and heap[0].place is not DELAYED:
            heappop(heap)
            self._husks -= 1
        self.soonest = heap[0].at if heap else inf
        return heap[0].at if heap else None

    def pop(self, now: float) -> list[QueuedKey[Key]]:
        """Those that have become due go, in the order of their times."""
        heap, ripe = self._heap, list[QueuedKey[Key]]()
        while heap and heap[0].at <= now:
            wish = heappop(heap)
            if wish.place is DELAYED:
                ripe.append(wish)
            else:
                self._husks -= 1
        self.soonest = heap[0].at if heap else inf
        return ripe

    def clear(self) -> list[QueuedKey[Key]]:
        """All of them go."""
        waiting = [wish for wish in self._heap if wish.place is DELAYED]
        self.soonest, self._heap, self._husks = inf, [], 0
        return waiting
