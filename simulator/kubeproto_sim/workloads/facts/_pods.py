"""What controllers look at in a pod: whether it is active, ready, and for how long."""

from __future__ import annotations

from typing import Any, Final

from ...storage._json_values import member, seconds_of
from ._conditions import find_condition

Json = dict[str, Any]
_FINISHED: Final = ("Succeeded", "Failed")


def phase(pod: Json) -> str:
    """Return the phase of a pod; Pending if it has none."""
    found: str = member(pod, "status").get("phase") or "Pending"
    return found


def is_finished(pod: Json) -> bool:
    """Whether a pod has ended."""
    return phase(pod) in _FINISHED


def is_terminating(pod: Json) -> bool:
    """Whether a pod is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def is_active(pod: Json) -> bool:
    """Whether a pod runs or may run yet, and nobody deletes it."""
    return not is_finished(pod) and not is_terminating(pod)


def condition(obj: Json, type_: str) -> Json | None:
    """Return the condition of this type in the status of an object; None if there is none."""
    return find_condition(member(obj, "status"), type_)


def is_ready(pod: Json) -> bool:
    """Whether a pod has the condition Ready."""
    found = condition(pod, "Ready")
    return found is not None and found.get("status") == "True"


def ready_since(pod: Json) -> float | None:
    """When a pod became ready; None if it is not ready, or the time is unknown."""
    found = condition(pod, "Ready")
    if found is None or found.get("status") != "True" or not found.get("lastTransitionTime"):
        return None
    return seconds_of(found["lastTransitionTime"])


def available_at(pod: Json, min_ready: int) -> float | None:
    """When a ready pod is available: it has been ready for `min_ready` seconds; None if that is unknown."""
    if not is_ready(pod):
        return None
    if not min_ready:
        return 0.0
    since = ready_since(pod)
    return None if since is None else since + min_ready


def is_available(pod: Json, min_ready: int, now: float) -> bool:
    """Whether a pod has been ready for `min_ready` seconds."""
    at = available_at(pod, min_ready)
    return at is not None and at <= now


def next_available(pods: list[Json], min_ready: int, now: float) -> float | None:
    """How many seconds it takes until the next of some pods is available; None if none will be."""
    if not min_ready:
        return None
    times = [at for pod in pods if (at := available_at(pod, min_ready)) is not None and at > now]
    return min(times) - now if times else None


def created(obj: Json) -> tuple[float, str]:
    """Return the sort key for objects, the oldest first; the name decides within a second."""
    meta = obj["metadata"]
    return seconds_of(meta["creationTimestamp"]), meta["name"]
