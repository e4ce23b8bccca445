"""`Patience`: a timeout of the blocking client that ends at a time, and does not restart with each read.

httpcore takes a number of seconds from a request and passes it unchanged to every read of the connection. So
a server that sends a byte before each of them expires would never time out. This number knows when it ends.
"""

from __future__ import annotations

import math
from time import monotonic
from typing import Final, Self

import httpcore

# Some sockets take 0 for "do not wait at all".
_LEAST: Final = 0.001

# Bytes that are written between two checks of the time.
_AT_ONCE: Final = 64 * 1024


class Patience(float):
    """Seconds for one read, and the time at which all reads end."""

    until: float

    def __new__(cls, seconds: float, until: float) -> Self:
        made = super().__new__(cls, seconds)
        made.until = until
        return made

    @property
    def left(self) -> float:
        """The seconds that the next read has."""
        return min(float(self), self.until - monotonic())


def patience(seconds: float | None, until: float) -> float | None:
    """Return a timeout of this many seconds for each read, none of which lasts longer than `until`."""
    if until == math.inf:
        return seconds
    left = max(until - monotonic(), _LEAST)
    return Patience(left if seconds is None else min(seconds, left), until)


def bounded(timeout: float | None) -> float | None:
    """Return a timeout for several reads together, as long as for one; a `Patience` keeps its end."""
    if timeout is None:
        return None
    until = monotonic() + float(timeout)
    return Patience(float(timeout), min(until, timeout.until) if isinstance(timeout, Patience) else until)


def read(stream: httpcore.NetworkStream, size: int, timeout: float | None) -> bytes:
    """Read from a stream with what is left of a timeout."""
    if not isinstance(timeout, Patience):
        return stream.read(size, timeout)
    if (left := timeout.left) <= 0:
        raise httpcore.ReadTimeout("the time given is over")
    return stream.read(size, left)


def write(stream: httpcore.NetworkStream, data: bytes, timeout: float | None) -> None:
    """Write to a stream, and check the rest of a timeout in between."""
    if not isinstance(timeout, Patience):
        stream.write(data, timeout)
        return
    for start in range(0, len(data), _AT_ONCE):
        if (left := timeout.left) <= 0:
            raise httpcore.WriteTimeout("the time given is over")
        stream.write(data[start : start + _AT_ONCE], left)
