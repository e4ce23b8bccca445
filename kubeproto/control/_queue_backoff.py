"""How long a key waits after its n-th failure in a row: functions of that number, and how they combine.

A backoff is any function from a number of failures, the first being 1, to seconds. None keeps state: the
queue counts, so that the delay of a key does not depend on other keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from ..wire import exponential_backoff

QueueBackoff: TypeAlias = Callable[[int], float]


class Exponential(Struct, frozen=True):
    """`first` seconds, doubled with each failure up to `cap`. The defaults are those of Go's controllers."""

    first: float = 0.005
    cap: float = 1000.0

    def __call__(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row."""
        return exponential_backoff(failures, initial=self.first, maximum=self.cap)


class FastThenSlow(Struct, frozen=True):
    """`fast` seconds for the first failures, `slow` seconds after these."""

    fast: float
    slow: float
    failures: int

    def __call__(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row."""
        return self.fast if failures <= self.failures else self.slow


class Longest(Struct, frozen=True):
    """The longest of several backoffs."""

    of: tuple[QueueBackoff, ...]

    def __call__(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row."""
        return max(backoff(failures) for backoff in self.of)


class AtMost(Struct, frozen=True):
    """Another backoff, but never longer than `seconds`."""

    backoff: QueueBackoff
    seconds: float

    def __call__(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row."""
        return min(self.backoff(failures), self.seconds)
