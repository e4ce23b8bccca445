"""The conditions of a Job: those of its end, and those that announce it while pods still run."""

from __future__ import annotations

from ...storage._json_values import member, objects_in
from ..objects._object_client import Json
from ..objects._status_conditions import find_condition

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
# The outcome is decided, and some pods have not ended yet.
SUCCESS_CRITERIA_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"


def finished_condition(job: Json) -> Json | None:
    """Return the condition with which a Job has finished; None if it has not."""
    for condition in objects_in(member(job, "status"), "conditions"):
        if condition["type"] in (COMPLETE, FAILED) and condition["status"] == "True":
            return condition
    return None


def job_condition(type_: str, status: str, reason: str, message: str, stamp: str) -> Json:
    """Return a condition whose last transition is now."""
    return {
        "type": type_, "status": status, "lastProbeTime": stamp, "lastTransitionTime": stamp,
        "reason": reason, "message": message,
    }  # fmt: skip


def ensure_condition(status: Json, condition: Json) -> bool:
    """Set a condition, unless it is missing and its status is False.

    Return whether the status has changed.
    """
    current = find_condition(status, condition["type"])
    if current is None:
        if condition["status"] == "False":
            return False
        status.setdefault("conditions", []).append(condition)
        return True
    if all(current.get(name) == condition[name] for name in ("status", "reason", "message")):
        return False
    current |= condition
    return True
