"""The status of a Deployment: the sums over its ReplicaSets, and the conditions that follow from them."""

from __future__ import annotations

from typing import Any, Final

from ...storage._json_values import listed, member, seconds_of
from ..facts._amounts import share
from ..facts._conditions import drop_condition, find_condition, set_condition
from ..facts._objects import Json

FOREVER: Final = 2**31 - 1
AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
_COUNTED: Final = {
    "replicas": "replicas", "readyReplicas": "readyReplicas", "availableReplicas": "availableReplicas",
}  # fmt: skip


def replicas_of(obj: Json) -> int:
    """Return how many replicas an object wants."""
    found: int = obj["spec"].get("replicas", 1)
    return found


def is_rolling(deployment: Json) -> bool:
    """Whether pods are replaced a few at a time."""
    return bool(member(deployment["spec"], "strategy").get("type") == "RollingUpdate")


def limits(deployment: Json) -> tuple[int, int]:
    """Return how many pods may be surplus, and how many may be unavailable."""
    if not is_rolling(deployment):
        return 0, 0
    wanted = replicas_of(deployment)
    rolling = member(member(deployment["spec"], "strategy"), "rollingUpdate")
    surge = share(rolling.get("maxSurge"), wanted, up=True)
    unavailable = share(rolling.get("maxUnavailable"), wanted, up=False)
    if not surge and not unavailable:
        unavailable = 1  # both were rounded to 0: without this the rollout would never progress
    return surge, min(unavailable, wanted)


def has_deadline(deployment: Json) -> bool:
    """Whether a rollout that does not progress is to be reported."""
    return bool(deployment["spec"].get("progressDeadlineSeconds", FOREVER) != FOREVER)


def new_condition(type_: str, status: str, reason: str, message: str, stamp: str) -> Json:
    """Return a condition whose transition is now."""
    return {
        "type": type_, "status": status, "lastUpdateTime": stamp, "lastTransitionTime": stamp,
        "reason": reason, "message": message,
    }  # fmt: skip


def counted(deployment: Json, sets: list[Json], new: Json | None, stamp: str) -> Json:
    """Return the status that follows from a Deployment's ReplicaSets, with its conditions as they were."""
    old = member(deployment, "status")
    total = {name: sum(member(one, "status").get(of, 0) for one in sets) for name, of in _COUNTED.items()}
    status: Json = {name: count for name, count in total.items() if count}
    if updated := member(new or {}, "status").get("replicas", 0):
        status["updatedReplicas"] = updated
    available = total["availableReplicas"]
    if (missing := sum(map(replicas_of, sets)) - available) > 0:
        status["unavailableReplicas"] = missing
    if (going := _terminating(sets)) is not None:
        status["terminatingReplicas"] = going
    if generation := deployment["metadata"].get("generation"):
        status["observedGeneration"] = generation
    if "collisionCount" in old:
        status["collisionCount"] = old["collisionCount"]
    if conditions := listed(old, "conditions"):
        status["conditions"] = list(conditions)
    enough = available >= replicas_of(deployment) - limits(deployment)[1]
    set_condition(status, new_condition(
        AVAILABLE, "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.", stamp,
    ))  # fmt: skip
    return status


def is_complete(deployment: Json, status: Json) -> bool:
    """Whether all pods are new and available."""
    wanted = replicas_of(deployment)
    names = ("updatedReplicas", "replicas", "availableReplicas")
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return bool(seen and all(status.get(name, 0) == wanted for name in names))


def is_progressing(deployment: Json, status: Json) -> bool:
    """Whether a rollout has progressed since the previous status."""
    old = member(deployment, "status")

    def count(of: Json, name: str) -> int:
        found: Any = of.get(name, 0)
        return int(found)

    return (
        count(status, "updatedReplicas") > count(old, "updatedReplicas")
        or count(status, "replicas") - count(status, "updatedReplicas")
        < count(old, "replicas") - count(old, "updatedReplicas")
        or count(status, "readyReplicas") > count(old, "readyReplicas")
        or count(status, "availableReplicas") > count(old, "availableReplicas")
    )


def deadline(deployment: Json, condition: Json) -> float:
    """When a rollout that does not progress has taken too long."""
    allowed: int = deployment["spec"]["progressDeadlineSeconds"]
    return seconds_of(condition["lastUpdateTime"]) + allowed


def _terminating(sets: list[Json]) -> int | None:
    """Return how many pods are ending; None if a ReplicaSet does not report that."""
    total = 0
    for one in sets:
        status = member(one, "status")
        if "terminatingReplicas" in status:
            total += status["terminatingReplicas"]
        elif status.get("observedGeneration"):
            return None
    return total


def judge_progress(deployment: Json, new: Json | None, status: Json, now: float, stamp: str) -> None:
    """Record in a new status whether the rollout is complete, progresses, or has taken too long."""
    current = find_condition(member(deployment, "status"), PROGRESSING)
    about = f'Deployment "{deployment["metadata"]["name"]}"'
    if new is not None:
        about = f'ReplicaSet "{new["metadata"]["name"]}"'
    if is_complete(deployment, status):
        said = ("True", "NewReplicaSetAvailable", f"{about} has successfully progressed.")
    elif is_progressing(deployment, status):
        condition = new_condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{about} is progressing.", stamp)
        if current is not None and current["status"] == "True":
            condition["lastTransitionTime"] = current["lastTransitionTime"]
        drop_condition(status, PROGRESSING)  # the same reason again, at a later time
        set_condition(status, condition)
        return
    elif _has_timed_out(deployment, status, now):
        said = ("False", "ProgressDeadlineExceeded", f"{about} has timed out progressing.")
    else:
        return
    set_condition(status, new_condition(PROGRESSING, *said, stamp))


def carry_failures(status: Json, sets: list[Json]) -> None:
    """Record in the status of a Deployment what prevents the first of its sets from creating its pods."""
    for one in sets:
        found = find_condition(member(one, "status"), FAILURE)
        if found is not None:
            since = found["lastTransitionTime"]
            condition = new_condition(FAILURE, found["status"], found["reason"], found["message"], since)
            set_condition(status, condition)
            return
    drop_condition(status, FAILURE)


def _has_timed_out(deployment: Json, status: Json, now: float) -> bool:
    current = find_condition(status, PROGRESSING)
    if current is None or current.get("reason") == "NewReplicaSetAvailable":
        return False
    if current.get("reason") == "ProgressDeadlineExceeded":
        return True
    return deadline(deployment, current) < now
