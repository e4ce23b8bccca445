"""`RateQueue`: the requests that wait for the rate of a client.

A request takes its token from the bucket when it is sent, and not when it begins to wait. So a request that
is cancelled while it waits takes no token. In the drivers a lock orders the waiting requests.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from kubeproto import DeadlineExceeded

if TYPE_CHECKING:
    from kubeproto.control import Rate


class RateQueue:
    """The token bucket of a client. `waiting` is the number of requests that wait for a token."""

    def __init__(self) -> None:
        self.waiting = 0
        self._full_at = -inf

    def check(self, rate: Rate, now: float, deadline: float) -> None:
        """Raise `DeadlineExceeded` if a request that begins to wait now would be sent after its deadline."""
        send_at = self.next_at(rate, now) + self.waiting * rate.every
        if send_at > deadline:
            wait = max(send_at - now, 0.0)
            raise DeadlineExceeded(
                f"the rate of this client permits the next request in {wait:.3g} s, after the deadline"
            )

    def next_at(self, rate: Rate, now: float) -> float:
        """Return the time at which the next request may be sent."""
        return rate.next_at(rate.refill(self._full_at, now))

    def take(self, rate: Rate, now: float) -> None:
        """Take a token for a request that is sent."""
        self._full_at = rate.take(rate.refill(self._full_at, now))
