"""`ShownWrites`: holds the key of a run until the controller's caches contain the writes of the run."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from kubeproto.control import CacheScope, OwnWrites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubeproto.control import OwnWrite, WorkQueue

    from ..caches._caches import Cache
    from ._sources import KindSource


class ShownWrites:
    """Drives `OwnWrites` for a controller, with the progress of its caches and a time limit."""

    def __init__(
        self, queue: WorkQueue[str], wake_workers: Callable[[], None], read_clock: Callable[[], float]
    ) -> None:
        self.machine: OwnWrites[str] = OwnWrites()
        self._queue = queue
        self._wake_workers = wake_workers
        self._clock = read_clock
        self._caches: list[tuple[Cache[Any], CacheScope]] = []
        self._listed_at: list[float] = []  # when each of them last showed a list
        self._deadline_changed = anyio.Event()

    def follow(self, cache: Cache[Any], source: KindSource) -> None:
        """Observe this cache too."""
        index = len(self._caches)
        namespace = cache.namespace if isinstance(cache.namespace, str) else ""
        scope = CacheScope.of(cache.resource, namespace, source.label_selector, source.field_selector)
        self._caches.append((cache, scope))
        self._listed_at.append(-inf)
        snapshots = cache.snapshots

        def on_progress() -> None:
            nonlocal snapshots
            if relisted := snapshots != cache.snapshots:
                snapshots, self._listed_at[index] = cache.snapshots, self._clock()
            if self.machine.outstanding:
                now, machine = self._clock(), self.machine
                shown_keys = machine.progress(index, cache.version, cache.entry, now, relisted=relisted)
                self._release(shown_keys, now)
                for key in machine.take_lost():
                    self._repeat(key, now)
                    self._wake_workers()

        cache.notify(on_progress)

    def hold(self, key: str, writes: Iterable[OwnWrite], began: float, now: float) -> bool:
        """Return whether a key must wait for the writes of its run, which began at the time `began`."""
        awaited: list[tuple[int, OwnWrite]] = []
        for write in writes:
            for index, (cache, scope) in enumerate(self._caches):
                entry = cache.entry(write.key)
                if not scope.will_show(write, entry):
                    continue
                if self._listed_at[index] >= began and write.is_lost(cache.version, entry):
                    self._repeat(key, now)  # the list arrived before the response
                if not write.is_shown(cache.version, entry):
                    awaited.append((index, write))
        if not awaited or not self.machine.hold(key, awaited, now):
            return False
        self._deadline_changed.set()
        return True

    async def run(self) -> None:
        """Release the keys that have waited for long enough, until cancelled."""
        while True:
            self._deadline_changed = anyio.Event()
            deadline = self.machine.next_at()
            with anyio.move_on_at(inf if deadline is None else deadline):
                await self._deadline_changed.wait()
            now = self._clock()
            self._release(self.machine.expire(now), now)

    def stop(self) -> None:
        """Release all keys."""
        now = self._clock()
        self._release(self.machine.clear(now), now)

    def _repeat(self, key: str, now: float) -> None:
        self._queue.add(key, now, reason="own write lost")

    def _release(self, keys: list[str], now: float) -> None:
        for key in keys:
            self._queue.release(key, now)
        if keys:
            self._wake_workers()
