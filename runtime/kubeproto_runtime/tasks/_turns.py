"""`Turns`: how tasks that decode share the event loop with all others.

Fifty caches that lose their place at the same moment list anew at the same moment. If each paused after a
slice of its own, all fifty slices would be decoded in one pass of the loop, and every other task would wait
for them: for 70 ms with a slice of more than one. So the slice is that of all of them, and whoever wants more
queues for the next one.
"""

from __future__ import annotations

from typing import Final

import anyio

# Bytes that are decoded before other tasks have their turn: a millisecond or two.
SLICE: Final = 128 * 1024


class Turns:
    """A slice that the tasks of a client share; `wait` when it is `over`."""

    def __init__(self) -> None:
        self._taken = 0
        self._queue = anyio.Lock()

    @property
    def over(self) -> bool:
        """Whether so much has been decoded that other tasks have to have their turn."""
        return self._taken >= SLICE

    def take(self, size: int) -> None:
        """Note that so many bytes are decoded now."""
        self._taken += size

    async def wait(self) -> None:
        """Wait for the next slice, behind those who wait already."""
        async with self._queue:  # which lets the event loop turn, whether somebody holds it or not
            self._taken = 0
