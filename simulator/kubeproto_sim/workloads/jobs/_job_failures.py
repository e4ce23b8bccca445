"""The failures of a Job's pods: which of them count, when they happened, and the backoff after them."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from kubeproto.wire import exponential_backoff

from ...storage._json_values import member, objects_in, seconds_of
from ..objects._object_client import Json
from ..objects._status_conditions import condition, phase

_INITIAL_BACKOFF: Final = 10.0
_MAX_BACKOFF: Final = 600.0


# The policy


class FailureVerdict(Struct, frozen=True):
    """The verdict of a `podFailurePolicy` on a failed pod; `message` ends the Job."""

    counts: bool = True
    action: str = ""
    message: str = ""


_COUNTS = FailureVerdict()


def judge_failure(job: Json, pod: Json) -> FailureVerdict:
    """Return the verdict of the first matching rule of the `podFailurePolicy` on a failed pod."""
    rules = objects_in(member(job["spec"], "podFailurePolicy"), "rules")
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    for rule_index, rule in enumerate(rules):
        action: str = rule["action"]
        if exit_codes := member(rule, "onExitCodes"):
            container = _container_with_exit_code(pod, exit_codes)
            if container is None:
                continue
            code = container["state"]["terminated"]["exitCode"]
            cause = f"Container {container['name']} for pod {name} failed with exit code {code}"
        else:
            matching = _matching_condition(pod, objects_in(rule, "onPodConditions"))
            if matching is None:
                continue
            cause = f"Pod {name} has condition {matching['type']}"
        if action == "FailJob":
            message = f"{cause} matching FailJob rule at index {rule_index}"
            return FailureVerdict(action=action, message=message)
        return FailureVerdict(counts=action != "Ignore", action=action)
    return _COUNTS


def _container_with_exit_code(pod: Json, exit_codes: Json) -> Json | None:
    """Return the first container whose exit code matches a rule."""
    for group in ("containerStatuses", "initContainerStatuses"):
        for container in objects_in(member(pod, "status"), group):
            code = member(member(container, "state"), "terminated").get("exitCode", 0)
            if not code or exit_codes.get("containerName") not in (None, container["name"]):
                continue
            if (code in exit_codes.get("values", ())) == (exit_codes["operator"] == "In"):
                return container
    return None


def _matching_condition(pod: Json, patterns: list[Json]) -> Json | None:
    for candidate in objects_in(member(pod, "status"), "conditions"):
        for pattern in patterns:
            same_status = candidate["status"] == pattern.get("status", "True")
            if candidate["type"] == pattern["type"] and same_status:
                return candidate
    return None


# The backoff


class FailureStreak(Struct, frozen=True):
    """The failures of a Job since its last success, and the time of the latest."""

    count: int = 0
    last_time: float | None = None


def finish_time(pod: Json) -> float:
    """Return when a pod ended, as precisely as its status shows."""
    times: list[str] = []
    containers = objects_in(member(pod, "status"), "containerStatuses")
    for container in containers:
        time = member(member(container, "state"), "terminated").get("finishedAt")
        if time:
            times.append(time)
    if containers and len(times) == len(containers):
        return max(map(seconds_of, times))
    ready = condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return seconds_of(ready["lastTransitionTime"])
    meta = pod["metadata"]
    if "deletionTimestamp" in meta:
        return seconds_of(meta["deletionTimestamp"]) - (meta.get("deletionGracePeriodSeconds") or 0)
    return seconds_of(meta["creationTimestamp"])


def extend_streak(streak: FailureStreak, succeeded: list[Json], failed: list[Json]) -> FailureStreak:
    """Return the streak after some pods have ended; a success starts a new streak."""
    times = sorted(map(finish_time, failed))
    if not succeeded:
        return FailureStreak(streak.count + len(times), times[-1]) if times else streak
    last_success = max(map(finish_time, succeeded))
    later = [time for time in times if time > last_success]
    return FailureStreak(len(later), later[-1] if later else None)


def remaining_backoff(streak: FailureStreak, now: float) -> float:
    """Return how many seconds a Job still waits before it creates the next pod."""
    if not streak.count or streak.last_time is None:
        return 0.0
    backoff = exponential_backoff(streak.count, initial=_INITIAL_BACKOFF, maximum=_MAX_BACKOFF)
    return max(backoff - (now - streak.last_time), 0.0)


def has_too_many_restarts(job: Json, pods: list[Json], limit: int) -> bool:
    """Return whether containers were restarted in place as often as pods may fail."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts: int = sum(
        container.get("restartCount", 0)
        for pod in pods
        if phase(pod) in ("Running", "Pending")
        for group in ("initContainerStatuses", "containerStatuses")
        for container in objects_in(member(pod, "status"), group)
    )
    return restarts >= limit if limit else restarts > 0
