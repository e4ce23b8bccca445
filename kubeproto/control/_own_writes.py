"""`OwnWrites`: which keys wait until the caches show what their last run has written or read.

::

    run ends ── hold ──► waiting ──┬── progress: each cache shows what it has to ──► released
                                   └── expire: the limit has passed ──────────────► released

A run that follows at once reads the cache, and without this it may see the object as it was before the status
that the last run wrote: it would do the work twice, or get a conflict with its own write. What it read from
the server counts as well, since it may have done nothing because of it.

- A relist at an older version, because a server was restored from a backup, releases all: the version may
  never come.
- No key waits longer than the limit: a lagging cache costs a second, and does not stop the controller.
- A cache that passes the version of a write and shows an older object has lost the write: the server was
  restored from a backup. The same holds for a cache that was relisted, and lacks what was written or still
  shows what was deleted. It may show what it showed before, so no event reports the loss, and the key has to
  be reconciled again (`take_lost`). A list from before a deletion looks the same, and costs one run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from heapq import heappop, heappush
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from ..objects import compare_versions
from ._changes import CachedObject
from ._written_objects import OwnWrite, is_older, is_shown, rank_of

Find: TypeAlias = Callable[[str], CachedObject | None]

Key = TypeVar("Key", bound=Hashable)

# Seconds. A watch brings what was written within milliseconds; a cache slower than this lags by minutes.
LONGEST: Final = 1.0


class _Held(Struct, Generic[Key]):
    """A key that waits: for how many writes, since when and until when. `left` is 0 once it is released.

    `unsettled` counts the writes for which it is not yet known whether a cache shows them or has lost them,
    also after a release; `late` is true if the limit released the key.
    """

    key: Key
    left: int
    since: float
    until: float
    unsettled: int = 0
    late: bool = False


class OwnWrites(Generic[Key]):
    """The keys that wait. Plain and deterministic: the caller chooses what identifies its caches."""

    def __init__(self, *, limit: float = LONGEST) -> None:
        self.limit = limit
        self.waits = self.timeouts = 0
        self.seconds = 0.0
        self._held: dict[Key, _Held[Key]] = {}
        self._order: deque[_Held[Key]] = deque()  # all have the same limit, so they expire in this order
        self._versions: dict[Hashable, list[tuple[tuple[int, str], int, _Held[Key], str]]] = {}
        self._others: dict[Hashable, dict[tuple[Key, str], tuple[OwnWrite, _Held[Key]]]] = {}
        self._reached: dict[Hashable, str] = {}
        self._lost: list[Key] = []
        self._late = 0
        self._turn = 0

    def hold(self, key: Key, awaited: Iterable[tuple[Hashable, OwnWrite]], now: float) -> bool:
        """Make a key wait until these caches show these writes; False if there are none to wait for."""
        held = _Held(key, 0, now, now + self.limit)
        for cache, write in awaited:
            held.left += 1
            if not write.deleted and (rank := rank_of(write.version)) is not None:
                self._turn += 1
                held.unsettled += 1
                heappush(self._versions.setdefault(cache, []), (rank, self._turn, held, write.key))
            else:
                self._await_other(cache, write, held)
        if held.left:
            self.waits += 1
            self._held[key] = held
            self._order.append(held)
        return held.left > 0

    def _await_other(self, cache: Hashable, write: OwnWrite, held: _Held[Key]) -> None:
        others, mark = self._others.setdefault(cache, {}), (held.key, write.key)
        if (earlier := others.pop(mark, None)) is not None:
            if earlier[0].deleted:
                self._settle(earlier[1], lost=False)
            if earlier[1] is held:
                held.left -= 1  # the run has written the object twice
        if write.deleted:
            held.unsettled += 1
        others[mark] = write, held

    @property
    def outstanding(self) -> bool:
        """Whether a cache has yet to show or lose a write, whether or not its key still waits."""
        return bool(self._held) or self._late > 0

    @property
    def waiting(self) -> int:
        """How many keys wait."""
        return len(self._held)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def progress(
        self, cache: Hashable, version: str, find: Find, now: float, *, relisted: bool = False
    ) -> list[Key]:
        """Note that a cache has reached this version, and return the keys that no longer wait."""
        before, self._reached[cache] = self._reached.get(cache, ""), version
        all_shown = _went_back(version, before)
        released: list[Key] = []
        versions, reached = self._versions.get(cache, []), rank_of(version)
        while versions and (all_shown or (reached is not None and versions[0][0] <= reached)):
            rank, _, held, written = heappop(versions)
            known = find(written)
            self._settle(held, lost=relisted if known is None else is_older(known, rank))
            self._shown(held, now, released)
        if others := self._others.get(cache):
            for mark, (write, held) in list(others.items()):
                shown = is_shown(write, version, find(write.key))
                if shown or all_shown or (relisted and write.deleted):
                    del others[mark]
                    if write.deleted:
                        self._settle(held, lost=not shown)
                    self._shown(held, now, released)
                elif not held.left and not write.deleted:
                    del others[mark]  # versions have no order: nobody can tell whether it was lost
        return released

    def expire(self, now: float) -> list[Key]:
        """Release and return the keys that have waited for the whole limit."""
        late: list[Key] = []
        while self._order and (not self._order[0].left or self._order[0].until <= now):
            held = self._order.popleft()
            if held.left:
                self.timeouts += 1
                held.late = True
                self._late += held.unsettled
                self._release(held, now)
                late.append(held.key)
        return late

    def next_at(self) -> float | None:
        """Return when the next key will have waited for the whole limit; None if none waits."""
        while self._order and not self._order[0].left:
            self._order.popleft()
        return self._order[0].until if self._order else None

    def clear(self, now: float) -> list[Key]:
        """Release all keys that wait, and return them."""
        keys = list(self._held)
        for held in list(self._held.values()):
            self._release(held, now)
        self._order.clear()
        self._versions.clear()
        self._others.clear()
        self._late = 0
        return keys

    def take_lost(self) -> list[Key]:
        """Return the keys whose writes a cache has lost, once."""
        lost, self._lost = self._lost, []
        return lost

    def _settle(self, held: _Held[Key], *, lost: bool) -> None:
        held.unsettled -= 1
        if held.late:
            self._late -= 1
        if lost:
            self._lost.append(held.key)

    def _shown(self, held: _Held[Key], now: float, released: list[Key]) -> None:
        if held.left == 1:
            self._release(held, now)
            released.append(held.key)
        elif held.left:
            held.left -= 1

    def _release(self, held: _Held[Key], now: float) -> None:
        held.left = 0
        self.seconds += max(0.0, now - held.since)
        del self._held[held.key]


def _went_back(version: str, before: str) -> bool:
    try:
        return compare_versions(version, before) < 0
    except ValueError:
        return False
