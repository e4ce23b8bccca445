"""The status of a Deployment: the sums over its ReplicaSets, and the conditions that follow from them."""

from __future__ import annotations

from typing import Any, Final

from ...storage._json_values import member, objects_in, seconds_of
from ..objects._object_client import Json
from ..objects._status_conditions import drop_condition, find_condition, set_condition
from ._deployment_sizes import replicas_of, rolling_limits

NO_LIMIT: Final = 2**31 - 1  # of a deadline and of the history
AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
_SUMMED_COUNTS: Final = ("replicas", "readyReplicas", "availableReplicas")


def has_deadline(deployment: Json) -> bool:
    """Return whether a rollout without progress fails after some time."""
    return bool(deployment["spec"].get("progressDeadlineSeconds", NO_LIMIT) != NO_LIMIT)


def deadline(deployment: Json, condition: Json) -> float:
    """Return when a rollout without progress since a condition has timed out."""
    timeout: int = deployment["spec"]["progressDeadlineSeconds"]
    return seconds_of(condition["lastUpdateTime"]) + timeout


def new_condition(type_: str, status: str, reason: str, message: str, stamp: str) -> Json:
    """Return a condition whose last transition is now."""
    return {
        "type": type_, "status": status, "lastUpdateTime": stamp, "lastTransitionTime": stamp,
        "reason": reason, "message": message,
    }  # fmt: skip


def summed_status(deployment: Json, replicasets: list[Json], new: Json | None, stamp: str) -> Json:
    """Return the counts that follow from the ReplicaSets, with the present conditions and Available."""
    previous = member(deployment, "status")
    totals = {
        name: sum(member(replicaset, "status").get(name, 0) for replicaset in replicasets)
        for name in _SUMMED_COUNTS
    }
    status: Json = {name: count for name, count in totals.items() if count}
    if updated := member(new or {}, "status").get("replicas", 0):
        status["updatedReplicas"] = updated
    available = totals["availableReplicas"]
    if (unavailable := sum(map(replicas_of, replicasets)) - available) > 0:
        status["unavailableReplicas"] = unavailable
    if (terminating := _terminating_replicas(replicasets)) is not None:
        status["terminatingReplicas"] = terminating
    if generation := deployment["metadata"].get("generation"):
        status["observedGeneration"] = generation
    if "collisionCount" in previous:
        status["collisionCount"] = previous["collisionCount"]
    if conditions := objects_in(previous, "conditions"):
        status["conditions"] = list(conditions)
    is_enough = available >= replicas_of(deployment) - rolling_limits(deployment)[1]
    set_condition(status, new_condition(
        AVAILABLE, "True" if is_enough else "False",
        "MinimumReplicasAvailable" if is_enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if is_enough else 'does not have'} minimum availability.", stamp,
    ))  # fmt: skip
    return status


def is_complete(deployment: Json, status: Json) -> bool:
    """Return whether all pods are new and available."""
    replicas = replicas_of(deployment)
    names = ("updatedReplicas", "replicas", "availableReplicas")
    is_observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return bool(is_observed and all(status.get(name, 0) == replicas for name in names))


def set_progress(deployment: Json, new: Json | None, status: Json, now: float, stamp: str) -> None:
    """Set the condition Progressing of a new status: complete, progressing or timed out."""
    current = find_condition(member(deployment, "status"), PROGRESSING)
    subject = f'Deployment "{deployment["metadata"]["name"]}"'
    if new is not None:
        subject = f'ReplicaSet "{new["metadata"]["name"]}"'
    if is_complete(deployment, status):
        verdict = ("True", "NewReplicaSetAvailable", f"{subject} has successfully progressed.")
    elif _is_progressing(deployment, status):
        message = f"{subject} is progressing."
        condition = new_condition(PROGRESSING, "True", "ReplicaSetUpdated", message, stamp)
        if current is not None and current["status"] == "True":
            condition["lastTransitionTime"] = current["lastTransitionTime"]
        drop_condition(status, PROGRESSING)  # set_condition skips an equal reason, whose time must advance
        set_condition(status, condition)
        return
    elif _has_timed_out(deployment, status, now):
        verdict = ("False", "ProgressDeadlineExceeded", f"{subject} has timed out progressing.")
    else:
        return
    set_condition(status, new_condition(PROGRESSING, *verdict, stamp))


def copy_failure(status: Json, replicasets: list[Json]) -> None:
    """Copy the first ReplicaFailure of the ReplicaSets to the status of their Deployment."""
    for replicaset in replicasets:
        failure = find_condition(member(replicaset, "status"), FAILURE)
        if failure is not None:
            transition = failure["lastTransitionTime"]
            set_condition(
                status,
                new_condition(FAILURE, failure["status"], failure["reason"], failure["message"], transition),
            )
            return
    drop_condition(status, FAILURE)


def _is_progressing(deployment: Json, status: Json) -> bool:
    """Return whether a rollout has progressed since the previous status."""
    previous = member(deployment, "status")

    def count(counts: Json, name: str) -> int:
        number: Any = counts.get(name, 0)
        return int(number)

    return (
        count(status, "updatedReplicas") > count(previous, "updatedReplicas")
        or count(status, "replicas") - count(status, "updatedReplicas")
        < count(previous, "replicas") - count(previous, "updatedReplicas")
        or count(status, "readyReplicas") > count(previous, "readyReplicas")
        or count(status, "availableReplicas") > count(previous, "availableReplicas")
    )


def _has_timed_out(deployment: Json, status: Json, now: float) -> bool:
    current = find_condition(status, PROGRESSING)
    if current is None or current.get("reason") == "NewReplicaSetAvailable":
        return False
    if current.get("reason") == "ProgressDeadlineExceeded":
        return True
    return deadline(deployment, current) < now


def _terminating_replicas(replicasets: list[Json]) -> int | None:
    """Return how many pods are being deleted; None if a ReplicaSet does not report that."""
    total = 0
    for replicaset in replicasets:
        status = member(replicaset, "status")
        if "terminatingReplicas" in status:
            total += status["terminatingReplicas"]
        elif status.get("observedGeneration"):
            return None
    return total
