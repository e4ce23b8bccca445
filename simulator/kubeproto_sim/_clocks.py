"""The virtual clock of a cluster, and clocks of its clients that disagree with it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Final, Protocol

# Returns the time zone of a name such as Europe/Berlin; None if there is none.
TimeZones = Callable[[str], datetime.tzinfo | None]
# 2026-01-01T00:00:00Z: where the virtual clock starts, so that times look realistic.
_START: Final = 1_767_225_600.0


def only_utc(name: str) -> datetime.tzinfo | None:
    """Return UTC for its names. Other zones need a database, which the simulator does not read."""
    return datetime.UTC if name in ("UTC", "Etc/UTC", "GMT", "Etc/GMT") else None


class VirtualClock:
    """The virtual time, in seconds since 1970; objects carry whole seconds."""

    def __init__(self) -> None:
        self.time = _START
        self._second = -1
        self._stamp = ""

    def stamp(self, delay: float = 0.0) -> str:
        """Return the time, or the time `delay` seconds later, as objects carry it."""
        second = int(self.time + delay)
        if second != self._second:
            time = datetime.datetime.fromtimestamp(second, datetime.UTC)
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._stamp


class TimeSource(Protocol):
    """A cluster, of which a clock needs only the time."""

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        ...


class DriftingClock:
    """The clock of a client of a simulated cluster: it runs at its own rate, and can be set.

    Call it for the time. Three candidates for a lease with three such clocks, at different rates, test an
    election in which no two candidates agree on the length of a second.
    """

    def __init__(self, cluster: TimeSource, *, rate: float = 1.0, ahead: float = 0.0) -> None:
        _check_rate(rate)
        self._cluster = cluster
        self._rate = rate
        # At the cluster's time `_cluster_time` this clock shows `_own_time`.
        self._cluster_time = cluster.now
        self._own_time = cluster.now + ahead

    def __call__(self) -> float:
        """Return the time by this clock."""
        return self._own_time + (self._cluster.now - self._cluster_time) * self._rate

    def drift(self, rate: float) -> None:
        """Run at another rate from now on."""
        _check_rate(rate)
        self._own_time, self._cluster_time, self._rate = self(), self._cluster.now, rate

    def jump(self, seconds: float) -> None:
        """Set the clock forward or, with a negative number, back."""
        self._own_time += seconds


def _check_rate(rate: float) -> None:
    if rate <= 0:
        raise ValueError(f"a clock runs forward, so its rate is positive: rate {rate!r}")
