"""The conditions of a Job: how it may end, and whether it has ended."""

from __future__ import annotations

from ...storage._json_values import listed, member
from ..facts._conditions import find_condition
from ..facts._objects import Json

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
MET, TARGET = "SuccessCriteriaMet", "FailureTarget"


def end_of(job: Json) -> Json | None:
    """Return the condition with which a Job has finished; None if it has not."""
    for one in listed(member(job, "status"), "conditions"):
        if one["type"] in (COMPLETE, FAILED) and one["status"] == "True":
            return one
    return None


def job_condition(type_: str, status: str, reason: str, message: str, stamp: str) -> Json:
    """Return a condition whose transition is now."""
    return {
        "type": type_, "status": status, "lastProbeTime": stamp, "lastTransitionTime": stamp,
        "reason": reason, "message": message,
    }  # fmt: skip


def ensure_condition(status: Json, wanted: Json) -> bool:
    """Set a condition in a status; one that is False only replaces another one."""
    current = find_condition(status, wanted["type"])
    if current is None:
        if wanted["status"] == "False":
            return False
        status.setdefault("conditions", []).append(wanted)
        return True
    if all(current.get(name) == wanted[name] for name in ("status", "reason", "message")):
        return False
    current |= wanted
    return True
