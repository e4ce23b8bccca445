"""How long a Job waits before it replaces a failed pod: twice as long after each failure in a row."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ...._pacing import exponential_backoff
from ..facts._objects import Json
from ._job_pods import finished_at

_FIRST: Final = 10.0
_LONGEST: Final = 600.0


class Failures(Struct, frozen=True):
    """The failures of a Job since its last success, and the time of the latest."""

    count: int = 0
    latest: float | None = None


def after_pods(known: Failures, succeeded: list[Json], failed: list[Json]) -> Failures:
    """Return the failures in a row after some pods have ended."""
    ends = sorted(map(finished_at, failed))
    if not succeeded:
        return Failures(known.count + len(ends), ends[-1]) if ends else known
    success = max(map(finished_at, succeeded))
    later = [end for end in ends if end > success]
    return Failures(len(later), later[-1] if later else None)


def time_left(failures: Failures, now: float) -> float:
    """Return how many seconds a Job still has to wait."""
    if not failures.count or failures.latest is None:
        return 0.0
    wait = exponential_backoff(failures.count, first=_FIRST, longest=_LONGEST)
    return max(wait - (now - failures.latest), 0.0)
