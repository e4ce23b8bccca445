"""`DeadlineTimeout`: a timeout of the blocking client with a deadline, so that it does not restart.

httpcore passes the number of seconds of a request unchanged to every read of the connection. So a server that
sends a byte before each timeout would never time out. This number knows its deadline.
"""

from __future__ import annotations

import math
from time import monotonic
from typing import Final, Self

import httpcore

# With 0 some sockets would not wait at all.
_MIN_TIMEOUT: Final = 0.001

# Bytes that are written between two checks of the deadline.
_WRITE_SIZE: Final = 64 * 1024


class DeadlineTimeout(float):
    """The seconds for a read, and the deadline of all reads."""

    deadline: float

    def __new__(cls, seconds: float, deadline: float) -> Self:
        timeout = super().__new__(cls, seconds)
        timeout.deadline = deadline
        return timeout

    @property
    def remaining(self) -> float:
        """The seconds for the next read."""
        return min(float(self), self.deadline - monotonic())


def limit_timeout(seconds: float | None, deadline: float) -> float | None:
    """Return a timeout of this many seconds for each read, none of which passes the deadline."""
    if deadline == math.inf:
        return seconds
    remaining = max(deadline - monotonic(), _MIN_TIMEOUT)
    return DeadlineTimeout(remaining if seconds is None else min(seconds, remaining), deadline)


def limit_reads(timeout: float | None) -> float | None:
    """Return the timeout of a read as the timeout of several reads together."""
    if timeout is None:
        return None
    deadline = monotonic() + float(timeout)
    if isinstance(timeout, DeadlineTimeout):
        deadline = min(deadline, timeout.deadline)
    return DeadlineTimeout(float(timeout), deadline)


def read_stream(stream: httpcore.NetworkStream, size: int, timeout: float | None) -> bytes:
    """Read from a stream within the remaining time of a timeout."""
    if not isinstance(timeout, DeadlineTimeout):
        return stream.read(size, timeout)
    if (remaining := timeout.remaining) <= 0:
        raise httpcore.ReadTimeout("the timeout has expired")
    return stream.read(size, remaining)


def write_stream(stream: httpcore.NetworkStream, data: bytes, timeout: float | None) -> None:
    """Write to a stream within the remaining time of a timeout, which is checked between parts."""
    if not isinstance(timeout, DeadlineTimeout):
        stream.write(data, timeout)
        return
    for start in range(0, len(data), _WRITE_SIZE):
        if (remaining := timeout.remaining) <= 0:
            raise httpcore.WriteTimeout("the timeout has expired")
        stream.write(data[start : start + _WRITE_SIZE], remaining)
