"""`ShownWrites`: keeps the key of a run until the controller's caches show what the run has written."""

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
    """Drives `OwnWrites` for one controller, with the progress of its caches and a time limit."""

    def __init__(
        self, queue: WorkQueue[str], stir: Callable[[], None], read_clock: Callable[[], float]
    ) -> None:
        self.machine: OwnWrites[str] = OwnWrites()
        self._queue = queue
        self._stir = stir
        self._clock = read_clock
        self._caches: list[tuple[Cache[Any], CacheScope]] = []
        self._listed_at: list[float] = []  # when each of them has shown a list
        self._nudge = anyio.Event()

    def follow(self, cache: Cache[Any], source: KindSource) -> None:
        """Wait for this cache too."""
        mark = len(self._caches)
        namespace = cache.namespace if isinstance(cache.namespace, str) else ""
        followed = CacheScope.of(cache.resource, namespace, source.label_selector, source.field_selector)
        self._caches.append((cache, followed))
        self._listed_at.append(-inf)
        snapshots = cache.snapshots

        def move() -> None:
            nonlocal snapshots
            if relisted := snapshots != cache.snapshots:
                snapshots, self._listed_at[mark] = cache.snapshots, self._clock()
            if self.machine.outstanding:
                now, machine = self._clock(), self.machine
                self._release(machine.progress(mark, cache.version, cache.entry, now, relisted=relisted), now)
                for key in machine.take_lost():
                    self._repeat(key, now)
                    self._stir()

        cache.notify(move)

    def hold(self, key: str, written: Iterable[OwnWrite], began: float, now: float) -> bool:
        """Return whether the key of a run has to wait for what the run has written since it began."""
        awaited: list[tuple[int, OwnWrite]] = []
        for write in written:
            for mark, (cache, followed) in enumerate(self._caches):
                known = cache.entry(write.key)
                if not followed.will_show(write, known):
                    continue
                if self._listed_at[mark] >= began and write.is_lost(cache.version, known):
                    self._repeat(key, now)  # the list came before the response
                if not write.is_shown(cache.version, known):
                    awaited.append((mark, write))
        if not awaited or not self.machine.hold(key, awaited, now):
            return False
        self._nudge.set()
        return True

    async def run(self) -> None:
        """Release the keys that have waited for long enough, until cancelled."""
        while True:
            self._nudge = anyio.Event()
            at = self.machine.next_at()
            with anyio.move_on_at(inf if at is None else at):
                await self._nudge.wait()
            now = self._clock()
            self._release(self.machine.expire(now), now)

    def end(self) -> None:
        """Stop waiting."""
        now = self._clock()
        self._release(self.machine.clear(now), now)

    def _repeat(self, key: str, now: float) -> None:
        self._queue.add(key, now, reason="own write lost")

    def _release(self, keys: list[str], now: float) -> None:
        for key in keys:
            self._queue.release(key, now)
        if keys:
            self._stir()
