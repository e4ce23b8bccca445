"""The pace of requests: a delay that grows with failures in a row, and a token bucket.

Retries, the resync, the work queue and the renewal of credentials differ in their numbers alone.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# 2 ** 64 nanoseconds are five centuries, so every cap has been reached by then. The power itself would
# overflow after a thousand failures, which is an outage of some hours.
_MAX_EXPONENT: Final = 64


def exponential_backoff(failures: int, *, initial: float, maximum: float, factor: float = 2.0) -> float:
    """Return the seconds to wait after this many failures in a row; 0 after none."""
    if failures <= 0:
        return 0.0
    return min(maximum, initial * factor ** min(failures - 1, _MAX_EXPONENT))


class Rate(Struct, frozen=True):
    """One token in `every` seconds, and up to `burst` at once after a rest.

    The bucket is one number, the time at which it will be full again.
    """

    every: float
    burst: int = 1

    def at_rest(self, full_at: float, now: float) -> float:
        """Return the bucket now: no fuller than full, and no emptier than empty if a clock was set back."""
        return min(max(full_at, now), now + self.burst * self.every)

    def next_at(self, full_at: float) -> float:
        """Return the time at which the bucket holds a token."""
        return full_at - (self.burst - 1) * self.every

    def take(self, full_at: float) -> float:
        """Return the bucket after one token was taken."""
        return full_at + self.every
