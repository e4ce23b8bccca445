"""How long a key waits after its n-th failure in a row: functions of that number, and how they combine.

A backoff is any function from a number of failures, the first being 1, to seconds. None keeps state: the
queue counts, so that a key's delay depends on no other key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

QueueBackoff: TypeAlias = Callable[[int], float]

# 2 ** 64 nanoseconds are five centuries: past this every cap has been reached, and the failures of a year's
# outage would make the power overflow.
_DOUBLINGS: Final = 64


class Exponential(Struct, frozen=True):
    """`first` seconds, doubled with each failure up to `cap`. The defaults are those of Go's controllers."""

    first: float = 0.005
    cap: float = 1000.0

    def __call__(self, failures: int) -> float:
        """The seconds to wait after so many failures in a row."""
        return min(self.cap, self.first * 2.0 ** min(failures - 1, _DOUBLINGS)) if failures > 0 else 0.0


class FastThenSlow(Struct, frozen=True):
    """`fast` seconds for the first failures, `slow` ones after these."""

    fast: float
    slow: float
    failures: int

    def __call__(self, failures: int) -> float:
        """The seconds to wait after so many failures in a row."""
        return self.fast if failures <= self.failures else self.slow


class Longest(Struct, frozen=True):
    """The longest of several waits."""

    of: tuple[QueueBackoff, ...]

    def __call__(self, failures: int) -> float:
        """The seconds to wait after so many failures in a row."""
        return max(backoff(failures) for backoff in self.of)


class AtMost(Struct, frozen=True):
    """Another wait, but never longer than `seconds`."""

    backoff: QueueBackoff
    seconds: float

    def __call__(self, failures: int) -> float:
        """The seconds to wait after so many failures in a row."""
        return min(self.backoff(failures), self.seconds)


class Rate(Struct, frozen=True):
    """One every so many seconds over time, and up to `burst` at once after a rest.

    The bucket is one number, the time at which it will be full again.
    """

    every: float
    burst: int = 1

    def at_rest(self, full_at: float, now: float) -> float:
        """The bucket now: no fuller than full, and no emptier than empty if a clock was set back."""
        return min(max(full_at, now), now + self.burst * self.every)

    def next_at(self, full_at: float) -> float:
        """When there is something in the bucket."""
        return full_at - (self.burst - 1) * self.every

    def take(self, full_at: float) -> float:
        """The bucket after one was taken."""
        return full_at + self.every
