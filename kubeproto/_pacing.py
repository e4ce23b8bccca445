"""Pacing of requests: a delay that grows with consecutive failures, and a token bucket.

Retries, the resync, the work queue and the renewal of credentials use both with different numbers.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# 2 ** 64 nanoseconds are five centuries, so every maximum has been reached by then. The power itself would
# overflow after a thousand failures, which is an outage of some hours.
_MAX_EXPONENT: Final = 64


def exponential_backoff(failures: int, *, initial: float, maximum: float, factor: float = 2.0) -> float:
    """Return the seconds to wait after this many consecutive failures; 0 for no failure."""
    if failures <= 0:
        return 0.0
    return min(maximum, initial * factor ** min(failures - 1, _MAX_EXPONENT))


class ExponentialBackoff(Struct, frozen=True):
    """The backoff of a queue's key: `initial` seconds, doubled with each consecutive failure up to `maximum`.

    The defaults are those of controller-runtime.
    """

    initial: float = 0.005
    maximum: float = 1000.0

    def __call__(self, failures: int) -> float:
        """Return the seconds to wait after this many consecutive failures."""
        return exponential_backoff(failures, initial=self.initial, maximum=self.maximum)


class Rate(Struct, frozen=True):
    """A token bucket: a token every `every` seconds, and at most `burst` tokens.

    The state of a bucket is a single number, `full_at`: the time at which it will be full again.
    """

    every: float
    burst: int = 1

    def refill(self, full_at: float, now: float) -> float:
        """Return the bucket at `now`: at most full, and at least empty even if the clock was set back."""
        return min(max(full_at, now), now + self.burst * self.every)

    def next_at(self, full_at: float) -> float:
        """Return the time at which the bucket has a token."""
        return full_at - (self.burst - 1) * self.every

    def take(self, full_at: float) -> float:
        """Return the bucket after a token was taken."""
        return full_at + self.every
