"""Clocks that disagree: what each of several candidates for a lease believes the time to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._cluster import Cluster


class DriftingClock:
    """The clock of one participant of a simulated cluster: it runs at its own rate, and can be set.

    Call it for the time. Three candidates with three such clocks, at different rates, show what an election
    does when no two of them agree on the length of a second.
    """

    def __init__(self, cluster: Cluster, *, rate: float = 1.0, ahead: float = 0.0) -> None:
        if rate <= 0:
            raise ValueError(f"a clock runs forward, so its rate is positive: rate {rate!r}")
        self._cluster = cluster
        self._rate = rate
        self._since = cluster.now
        self._then = cluster.now + ahead

    def __call__(self) -> float:
        """Return the time by this clock."""
        return self._then + (self._cluster.now - self._since) * self._rate

    def drift(self, rate: float) -> None:
        """Run at another rate from now on."""
        if rate <= 0:
            raise ValueError(f"a clock runs forward, so its rate is positive: rate {rate!r}")
        self._then, self._since, self._rate = self(), self._cluster.now, rate

    def jump(self, seconds: float) -> None:
        """Set the clock forward or, with a negative number, back."""
        self._then += seconds
