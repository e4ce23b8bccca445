"""The pace of the requests of the resync machine: an exponential backoff and a token bucket."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .._pacing import ExponentialBackoff, Rate
from ..wire import Outcome, Refused, Rejected

# A burst of ten requests allows a program to start, relist and recover without a delay. A server can bear one
# request per second forever, whatever it responds.
RATE: Final = Rate(1.0, burst=10)

# People fix credentials and install missing kinds: ten seconds is soon enough for them, and six requests a
# minute hurt no server.
SLOW: Final = 10.0

# A server may ask for a long wait. Beyond an hour it is more likely a mistake.
MAX_WAIT: Final = 3600.0


class Backoff(ExponentialBackoff, frozen=True, kw_only=True, gc=False):
    """The delay after consecutive failures: `initial` seconds, doubled each time, up to `maximum`.

    It is extended by up to `jitter` times itself, so that clients that failed together return at different
    times. Go's client has the same delays: 0.8 s to 30 s, each up to twice as long.
    """

    initial: float = 0.8
    maximum: float = 30.0
    jitter: float = 1.0


class Wait(Struct, frozen=True, gc=False):
    """A wait that ends between `delay` seconds from now and `spread` seconds after that."""

    delay: float = 0.0
    spread: float = 0.0


NOW: Final = Wait()


def wait_after(outcome: Outcome | None, failures: int, backoff: Backoff) -> Wait:
    """Return the wait after a failure: at least as long as the server asks, with jitter."""
    delay = backoff(failures)
    if isinstance(outcome, Refused | Rejected):
        delay = max(delay, SLOW)
    retry_after = outcome.retry_after if outcome is not None else None
    return Wait(max(delay, min(retry_after or 0.0, MAX_WAIT)), delay * backoff.jitter)


def take_token(bucket: float, earliest: float) -> tuple[float, float]:
    """Return the time of the next request, not before `earliest`, and the bucket after it."""
    full_at = RATE.refill(bucket, earliest)
    return max(earliest, RATE.next_at(full_at)), RATE.take(full_at)
