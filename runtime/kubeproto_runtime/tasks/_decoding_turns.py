"""`DecodingTurns`: limits the decoding between two turns of the other tasks on the event loop.

Fifty caches whose watches end at the same moment relist at the same moment. If each cache paused after its
own slice, the loop would decode fifty slices in a single pass, and all other tasks would wait for 70 ms with
slices of more than a millisecond. So the tasks of a client share a slice, and a task that needs more bytes
queues for the next slice.
"""

from __future__ import annotations

from typing import Final

import anyio

# Bytes that are decoded before other tasks have their turn. Decoding them takes one to two milliseconds.
SLICE: Final = 128 * 1024


class DecodingTurns:
    """A slice of bytes that the tasks of a client share."""

    def __init__(self) -> None:
        self._used_bytes = 0
        self._queue = anyio.Lock()

    async def take(self, size: int) -> None:
        """Use `size` bytes of the slice; first wait for the next slice if the current slice is used up."""
        if self._used_bytes >= SLICE:
            async with self._queue:  # acquiring it yields to the event loop, even if the lock is free
                self._used_bytes = 0
        self._used_bytes += size
