"""Conditions in the status of objects, and what pods report there: phase, readiness, availability."""

from __future__ import annotations

from typing import Final

from ...storage._json_values import member, objects_in, seconds_of
from ._object_client import Json

_FINAL_PHASES: Final = ("Succeeded", "Failed")


# Conditions of any object


def find_condition(status: Json, type_: str) -> Json | None:
    """Return the condition of a type; None if the status has none."""
    return next((entry for entry in objects_in(status, "conditions") if entry.get("type") == type_), None)


def drop_condition(status: Json, type_: str) -> None:
    """Remove the condition of a type from a status."""
    others = [entry for entry in objects_in(status, "conditions") if entry["type"] != type_]
    if others:
        status["conditions"] = others
    else:
        status.pop("conditions", None)


def set_condition(status: Json, condition: Json) -> None:
    """Put a condition into a status, unless the status has one with the same type, status and reason."""
    current = find_condition(status, condition["type"])
    if current is not None and current["status"] == condition["status"]:
        if current.get("reason") == condition["reason"]:
            return
        condition["lastTransitionTime"] = current["lastTransitionTime"]
    drop_condition(status, condition["type"])
    status["conditions"] = [*objects_in(status, "conditions"), condition]


# Pods


def phase(pod: Json) -> str:
    """Return the phase of a pod; Pending if it has none."""
    text: str = member(pod, "status").get("phase") or "Pending"
    return text


def is_finished(pod: Json) -> bool:
    """Return whether all containers of a pod have ended for good."""
    return phase(pod) in _FINAL_PHASES


def is_terminating(pod: Json) -> bool:
    """Return whether a pod is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def is_active(pod: Json) -> bool:
    """Return whether a pod is neither finished nor being deleted."""
    return not is_finished(pod) and not is_terminating(pod)


def condition(obj: Json, type_: str) -> Json | None:
    """Return the condition of a type in the status of an object; None if there is none."""
    return find_condition(member(obj, "status"), type_)


def is_ready(pod: Json) -> bool:
    """Return whether the condition Ready of a pod is True."""
    ready = condition(pod, "Ready")
    return ready is not None and ready.get("status") == "True"


def ready_since(pod: Json) -> float | None:
    """Return when a pod became ready; None if it is not ready or the time is unknown."""
    ready = condition(pod, "Ready")
    if ready is None or ready.get("status") != "True" or not ready.get("lastTransitionTime"):
        return None
    return seconds_of(ready["lastTransitionTime"])


def available_at(pod: Json, min_ready: int) -> float | None:
    """Return when a pod will have been ready for `min_ready` seconds; None if it is not ready."""
    if not is_ready(pod):
        return None
    if not min_ready:
        return 0.0
    since = ready_since(pod)
    return None if since is None else since + min_ready


def is_available(pod: Json, min_ready: int, now: float) -> bool:
    """Return whether a pod has been ready for `min_ready` seconds."""
    available = available_at(pod, min_ready)
    return available is not None and available <= now


def seconds_until_available(pods: list[Json], min_ready: int, now: float) -> float | None:
    """Return in how many seconds the next of some pods becomes available; None if none will."""
    if not min_ready:
        return None
    times = [time for pod in pods if (time := available_at(pod, min_ready)) is not None and time > now]
    return min(times) - now if times else None


# Any object


def age_order(obj: Json) -> tuple[float, str]:
    """Return a sort key that puts the oldest object first; the name decides within a second."""
    meta = obj["metadata"]
    return seconds_of(meta["creationTimestamp"]), meta["name"]
