"""`OwnWrites`: which keys wait until the caches show the writes and reads of their last run.

::

    run ends ── hold ──► waiting ──┬── progress: each cache shows its writes ──► released
                                   └── expire: the limit has passed ───────────► released

A run that follows immediately reads the cache, and without this it may see the object as it was before the
status that the last run wrote: it would repeat the work, or get a conflict with its own write. The reads of a
run count as well, since the run may have done nothing because of them.

- A relist at an older version, because a server was restored from a backup, releases all keys: the awaited
  versions may never come.
- No key waits longer than the limit: a lagging cache costs a second, and does not stop the controller.
- A cache that passes the version of a write and shows an older object has lost the write: the server was
  restored from a backup. The same holds for a cache that was relisted, and lacks a written object or still
  shows a deleted object. The cache may show the same object as before, so no event reports the loss, and the
  key must be reconciled again (`take_lost`). A list from before a deletion looks the same, and costs a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from heapq import heappop, heappush
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from ..objects import compare_versions
from ._cached_objects import CachedObject
from ._written_objects import OwnWrite, is_older, version_rank

FindEntry: TypeAlias = Callable[[str], CachedObject | None]

Key = TypeVar("Key", bound=Hashable)

# Seconds. A watch delivers a write within milliseconds. If it takes longer, the cache is usually minutes
# behind, and waiting is pointless.
MAX_WAIT: Final = 1.0


class _WaitingKey(Struct, Generic[Key]):
    """A key that waits for `pending` writes until `deadline`; `pending` is 0 once it is released.

    `unsettled` counts the writes of which no cache has shown or lost any yet, even after the release.
    """

    key: Key
    pending: int
    since: float
    deadline: float
    unsettled: int = 0
    timed_out: bool = False


class OwnWrites(Generic[Key]):
    """The waiting keys. The caller chooses the identifiers of its caches."""

    def __init__(self, *, limit: float = MAX_WAIT) -> None:
        self.limit = limit
        self.waits = self.timeouts = 0
        self.seconds = 0.0
        self._waiting: dict[Key, _WaitingKey[Key]] = {}
        # In the order of their deadlines, because all have the same limit.
        self._by_deadline: deque[_WaitingKey[Key]] = deque()
        # For each cache, the awaited writes: a heap by version, and a dictionary for deletions and for
        # versions without an order.
        self._versions: dict[Hashable, list[tuple[tuple[int, str], int, _WaitingKey[Key], str]]] = {}
        self._unordered: dict[Hashable, dict[tuple[Key, str], tuple[OwnWrite, _WaitingKey[Key]]]] = {}
        self._reached: dict[Hashable, str] = {}
        self._lost_keys: list[Key] = []
        self._unsettled_timeouts = 0
        self._turn = 0

    def hold(self, key: Key, awaited: Iterable[tuple[Hashable, OwnWrite]], now: float) -> bool:
        """Make a key wait until these caches show these writes; return False if `awaited` is empty."""
        waiting = _WaitingKey(key, 0, now, now + self.limit)
        for cache, write in awaited:
            waiting.pending += 1
            if not write.deleted and (rank := version_rank(write.version)) is not None:
                self._turn += 1
                waiting.unsettled += 1
                heappush(self._versions.setdefault(cache, []), (rank, self._turn, waiting, write.key))
            else:
                self._await_unordered(cache, write, waiting)
        if waiting.pending:
            self.waits += 1
            self._waiting[key] = waiting
            self._by_deadline.append(waiting)
        return waiting.pending > 0

    def _await_unordered(self, cache: Hashable, write: OwnWrite, waiting: _WaitingKey[Key]) -> None:
        unordered, identity = self._unordered.setdefault(cache, {}), (waiting.key, write.key)
        if (earlier := unordered.pop(identity, None)) is not None:
            earlier_write, earlier_waiting = earlier
            if earlier_write.deleted:
                self._settle(earlier_waiting, is_lost=False)
            if earlier_waiting is waiting:
                waiting.pending -= 1  # the run has written the object twice
        if write.deleted:
            waiting.unsettled += 1
        unordered[identity] = write, waiting

    @property
    def outstanding(self) -> bool:
        """Whether a cache has yet to show or lose a write, whether or not its key still waits."""
        return bool(self._waiting) or self._unsettled_timeouts > 0

    @property
    def waiting(self) -> int:
        """The number of waiting keys."""
        return len(self._waiting)

    def __contains__(self, key: object) -> bool:
        return key in self._waiting

    def progress(
        self, cache: Hashable, version: str, find_entry: FindEntry, now: float, *, relisted: bool = False
    ) -> list[Key]:
        """Record the version that a cache has reached; return the keys that no longer wait."""
        previous_version, self._reached[cache] = self._reached.get(cache, ""), version
        release_all = _is_before(version, previous_version)
        released: list[Key] = []
        versions, reached = self._versions.get(cache, []), version_rank(version)
        while versions and (release_all or (reached is not None and versions[0][0] <= reached)):
            rank, _, waiting, object_key = heappop(versions)
            cached = find_entry(object_key)
            self._settle(waiting, is_lost=relisted if cached is None else is_older(cached, rank))
            self._mark_shown(waiting, now, released)
        if unordered := self._unordered.get(cache):
            for identity, (write, waiting) in list(unordered.items()):
                is_shown = write.is_shown(version, find_entry(write.key))
                if is_shown or release_all or (relisted and write.deleted):
                    del unordered[identity]
                    if write.deleted:
                        self._settle(waiting, is_lost=not is_shown)
                    self._mark_shown(waiting, now, released)
                elif not waiting.pending and not write.deleted:
                    del unordered[identity]  # versions have no order, so a loss cannot be detected
        return released

    def expire(self, now: float) -> list[Key]:
        """Release and return the keys whose deadline has passed."""
        expired: list[Key] = []
        queue = self._by_deadline
        while queue and (not queue[0].pending or queue[0].deadline <= now):
            waiting = queue.popleft()
            if waiting.pending:
                self.timeouts += 1
                waiting.timed_out = True
                self._unsettled_timeouts += waiting.unsettled
                self._release(waiting, now)
                expired.append(waiting.key)
        return expired

    def next_at(self) -> float | None:
        """Return the next deadline; None if no key waits."""
        while self._by_deadline and not self._by_deadline[0].pending:
            self._by_deadline.popleft()
        return self._by_deadline[0].deadline if self._by_deadline else None

    def clear(self, now: float) -> list[Key]:
        """Release and return all keys."""
        keys = list(self._waiting)
        for waiting in list(self._waiting.values()):
            self._release(waiting, now)
        self._by_deadline.clear()
        self._versions.clear()
        self._unordered.clear()
        self._unsettled_timeouts = 0
        return keys

    def take_lost(self) -> list[Key]:
        """Return the keys whose writes a cache has lost since the last call."""
        keys, self._lost_keys = self._lost_keys, []
        return keys

    def _settle(self, waiting: _WaitingKey[Key], *, is_lost: bool) -> None:
        waiting.unsettled -= 1
        if waiting.timed_out:
            self._unsettled_timeouts -= 1
        if is_lost:
            self._lost_keys.append(waiting.key)

    def _mark_shown(self, waiting: _WaitingKey[Key], now: float, released: list[Key]) -> None:
        if waiting.pending == 1:
            self._release(waiting, now)
            released.append(waiting.key)
        elif waiting.pending:
            waiting.pending -= 1

    def _release(self, waiting: _WaitingKey[Key], now: float) -> None:
        waiting.pending = 0
        self.seconds += max(0.0, now - waiting.since)
        del self._waiting[waiting.key]


def _is_before(version: str, previous_version: str) -> bool:
    try:
        return compare_versions(version, previous_version) < 0
    except ValueError:
        return False
