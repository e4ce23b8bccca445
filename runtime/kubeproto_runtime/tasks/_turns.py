"""`Turns`: how tasks that decode share the event loop with all others.

Fifty caches that lose their position at the same moment relist at the same moment. If each paused after a
slice of its own, all fifty slices would be decoded in one pass of the loop, and every other task would wait
for them: for 70 ms with slices of more than one millisecond. So they share one slice, and a task that needs
more queues for the next one.
"""

from __future__ import annotations

from typing import Final

import anyio

# Bytes that are decoded before other tasks have their turn: a millisecond or two.
SLICE: Final = 128 * 1024


class Turns:
    """A slice that the tasks of a client share."""

    def __init__(self) -> None:
        self._taken = 0
        self._queue = anyio.Lock()

    async def take(self, size: int) -> None:
        """Take this many bytes of the slice; wait for the next slice if the current one is used up."""
        if self._taken >= SLICE:
            async with self._queue:  # which yields to the event loop, whether the lock is held or not
                self._taken = 0
        self._taken += size
