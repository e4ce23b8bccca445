"""The policies of a Job: which failures of pods count, and which successes are enough."""

from __future__ import annotations

from msgspec import Struct

from ...storage._json_values import listed, member
from ..facts._objects import Json
from ._job_indexes import read_indexes


class FailureVerdict(Struct, frozen=True):
    """What the policy decides on a failed pod: whether it counts, and the message that ends the whole Job."""

    counts: bool = True
    action: str = ""
    message: str = ""


_COUNTS = FailureVerdict()


def judge_failure(job: Json, pod: Json) -> FailureVerdict:
    """Return the verdict of the first matching rule of the `podFailurePolicy` on a failed pod."""
    rules = listed(member(job["spec"], "podFailurePolicy"), "rules")
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    for number, rule in enumerate(rules):
        action: str = rule["action"]
        if codes := member(rule, "onExitCodes"):
            container = _by_exit_code(pod, codes)
            if container is None:
                continue
            code = container["state"]["terminated"]["exitCode"]
            about = f"Container {container['name']} for pod {name} failed with exit code {code}"
        else:
            matched = _by_condition(pod, listed(rule, "onPodConditions"))
            if matched is None:
                continue
            about = f"Pod {name} has condition {matched['type']}"
        if action == "FailJob":
            return FailureVerdict(action=action, message=f"{about} matching FailJob rule at index {number}")
        return FailureVerdict(counts=action != "Ignore", action=action)
    return _COUNTS


def judge_success(job: Json, succeeded: set[int]) -> str | None:
    """Return the message for a Job whose `successPolicy` these indexes meet; None if they do not."""
    if not succeeded:
        return None
    for number, rule in enumerate(listed(member(job["spec"], "successPolicy"), "rules")):
        enough: int | None = rule.get("succeededCount")
        if "succeededIndexes" in rule:
            wanted = read_indexes(rule["succeededIndexes"], job["spec"]["completions"])
            there = len(wanted & succeeded)
            met = bool(wanted) and (there == len(wanted) or (enough is not None and there >= enough))
        else:
            met = enough is not None and len(succeeded) >= enough
        if met:
            return f"Matched rules at index {number}"
    return None


def _by_exit_code(pod: Json, codes: Json) -> Json | None:
    """Return the first container that ended with a code that a rule matches."""
    for group in ("containerStatuses", "initContainerStatuses"):
        for one in listed(member(pod, "status"), group):
            ended = member(member(one, "state"), "terminated")
            code = ended.get("exitCode", 0)
            if not code or codes.get("containerName") not in (None, one["name"]):
                continue
            if (code in codes.get("values", ())) == (codes["operator"] == "In"):
                return one
    return None


def _by_condition(pod: Json, patterns: list[Json]) -> Json | None:
    for one in listed(member(pod, "status"), "conditions"):
        for pattern in patterns:
            if one["type"] == pattern["type"] and one["status"] == pattern.get("status", "True"):
                return one
    return None
