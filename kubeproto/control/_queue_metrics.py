"""The counters and histograms of a `WorkQueue`, named like client-go's metrics."""

from __future__ import annotations

from bisect import bisect_left
from math import inf
from typing import Final

from msgspec import Struct

# From ten nanoseconds to a quarter of an hour in powers of ten: the buckets of controller-runtime, so that
# its dashboards fit.
BOUNDS: Final = tuple(10.0**power for power in range(-8, 4))


class Histogram(Struct, frozen=True):
    """A histogram of durations: `counts[i]` durations are at most `bounds[i]`, and more than the previous
    bound.

    The last count is that of durations above all bounds. Counts are not cumulative.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float

    @property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.counts)


class Durations:
    """Collects durations for a `Histogram`."""

    __slots__ = ("_bucket", "_lower_bound", "_upper_bound", "counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0
        self._lower_bound, self._upper_bound, self._bucket = 0.0, BOUNDS[0], 0

    def observe(self, seconds: float) -> None:
        """Count a duration; a negative duration, from a clock that was set back, counts as 0."""
        # Most durations fall into the bucket of the previous duration. Two comparisons take a fifth of the
        # time of a search.
        if not self._lower_bound < seconds <= self._upper_bound:
            seconds = max(0.0, seconds)
            bucket = self._bucket = bisect_left(BOUNDS, seconds)
            self._lower_bound = BOUNDS[bucket - 1] if bucket else 0.0
            self._upper_bound = BOUNDS[bucket] if bucket < len(BOUNDS) else inf
        self.counts[self._bucket] += 1
        self.sum += seconds

    def histogram(self) -> Histogram:
        """Return a snapshot."""
        return Histogram(BOUNDS, tuple(self.counts), self.sum)


class QueueMetrics(Struct, frozen=True):
    """A queue at one moment. With the prefix ``workqueue_`` the names are those of client-go's metrics.

    `depth` counts the ready keys by priority; `adds_total` counts how often a key became ready.
    """

    depth: dict[int, int]
    adds_total: int
    retries_total: int
    queue_duration_seconds: Histogram
    work_duration_seconds: Histogram
    unfinished_work_seconds: float
    longest_running_processor_seconds: float
