"""How often a Job may fail, and how long it waits: twice as long after each failure in a row."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from kubeproto.wire import exponential_backoff

from ...storage._json_values import listed, member
from ..facts._objects import Json
from ..facts._pods import phase
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


def has_restarted_too_often(job: Json, pods: list[Json], limit: int) -> bool:
    """Whether containers were restarted in place as often as pods may fail."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts: int = sum(
        one.get("restartCount", 0)
        for pod in pods
        if phase(pod) in ("Running", "Pending")
        for group in ("initContainerStatuses", "containerStatuses")
        for one in listed(member(pod, "status"), group)
    )
    return restarts >= limit if limit else restarts > 0


def time_left(failures: Failures, now: float) -> float:
    """Return how many seconds a Job still has to wait."""
    if not failures.count or failures.latest is None:
        return 0.0
    wait = exponential_backoff(failures.count, initial=_FIRST, maximum=_LONGEST)
    return max(wait - (now - failures.latest), 0.0)
