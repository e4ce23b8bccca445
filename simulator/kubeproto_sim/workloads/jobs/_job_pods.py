"""The pods of a Job: their index, whether they have failed and when, and how they are made."""

from __future__ import annotations

from typing import Final

from ...storage._json_values import copied, listed, member, seconds_of, texts
from ..facts._deletion_order import in_order_of_deletion
from ..facts._objects import Json
from ..facts._pods import condition, is_terminating, phase
from ..loops._pod_control import pod_from
from ._job_policies import judge_failure

TRACKING: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST_BASE: Final = 58


def is_indexed(job: Json) -> bool:
    """Whether each of a Job's completions has a number."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def limits_each_index(job: Json) -> bool:
    """Whether the backoff limit applies to each index separately."""
    return job["spec"].get("backoffLimitPerIndex") is not None


def is_tracked(pod: Json) -> bool:
    """Whether a pod waits to be counted."""
    return TRACKING in texts(pod["metadata"], "finalizers")


def index_of(pod: Json) -> int | None:
    """Return the completion index of a pod; None if it has none that can be read."""
    text = str(member(pod["metadata"], "annotations").get(INDEX, ""))
    return int(text) if text.isdecimal() else None


def replaces_failed_alone(job: Json) -> bool:
    """Whether a pod is replaced only when it has ended, and not while it is being deleted."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy") is not None


def has_failed(pod: Json, job: Json) -> bool:
    """Whether a pod counts as failed: one that is being deleted does, unless the Job waits for its end."""
    if phase(pod) == "Failed":
        return True
    return not replaces_failed_alone(job) and is_terminating(pod) and phase(pod) != "Succeeded"


def finished_at(pod: Json) -> float:
    """When a pod ended, as precisely as its status shows."""
    ends: list[str] = []
    containers = listed(member(pod, "status"), "containerStatuses")
    for one in containers:
        ended = member(member(one, "state"), "terminated").get("finishedAt")
        if ended:
            ends.append(ended)
    if containers and len(ends) == len(containers):
        return max(map(seconds_of, ends))
    ready = condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return seconds_of(ready["lastTransitionTime"])
    meta = pod["metadata"]
    if "deletionTimestamp" in meta:
        return seconds_of(meta["deletionTimestamp"]) - (meta.get("deletionGracePeriodSeconds") or 0)
    return seconds_of(meta["creationTimestamp"])


def failure_counts(pod: Json | None) -> tuple[int, int]:
    """Return how often the index of a pod had failed before it, with and without counting."""
    noted = member(pod["metadata"], "annotations") if pod is not None else {}
    counted, ignored = str(noted.get(FAILURES, "")), str(noted.get(IGNORED, ""))
    return int(counted) if counted.isdecimal() else 0, int(ignored) if ignored.isdecimal() else 0


def surplus_pods(job: Json, active: list[Json], at_least: int, now: float) -> list[Json]:
    """Return pods to delete: those without an index, duplicates of one, and then the cheapest."""
    completions: int | None = job["spec"].get("completions")
    if not is_indexed(job) or completions is None:
        return in_order_of_deletion(active, [], now)[:at_least]
    by_index: dict[int | None, list[Json]] = {}
    for pod in active:
        by_index.setdefault(index_of(pod), []).append(pod)
    doomed: list[Json] = []
    left: list[Json] = []
    for index, pods in by_index.items():
        if index is None or index >= completions:
            doomed += pods
            continue
        in_order = in_order_of_deletion(pods, [], now)
        doomed += in_order[:-1]
        left.append(in_order[-1])
    missing = max(at_least - len(doomed), 0)
    return doomed + in_order_of_deletion(left, [], now)[:missing]


def new_pod(job: Json, index: int | None, replaced: Json | None) -> Json:
    """Return a pod for a Job, in place of one that has failed if its index has had one."""
    template: Json = copied(job["spec"]["template"])
    meta: Json = template.setdefault("metadata", {})
    finalizers = meta.setdefault("finalizers", [])
    if TRACKING not in finalizers:
        finalizers.append(TRACKING)
    if index is None:
        return pod_from(template, job)
    for group in ("initContainers", "containers"):
        for container in listed(template["spec"], group):
            _add_variable(container)
    meta.setdefault("annotations", {})[INDEX] = str(index)
    meta.setdefault("labels", {})[INDEX] = str(index)
    template["spec"]["hostname"] = f"{job['metadata']['name']}-{index}"
    if limits_each_index(job):
        counted, ignored = failure_counts(replaced)
        if replaced is not None:
            counts = judge_failure(job, replaced).counts
            counted, ignored = counted + counts, ignored + (not counts)
        meta["annotations"][FAILURES] = str(counted)
        if ignored:
            meta["annotations"][IGNORED] = str(ignored)
    pod = pod_from(template, job)
    number = f"-{index}-"
    pod["metadata"]["generateName"] = job["metadata"]["name"][: _LONGEST_BASE - len(number)] + number
    return pod


def _add_variable(container: Json) -> None:
    variables: list[Json] = container.setdefault("env", [])
    if not any(one["name"] == _INDEX_VARIABLE for one in variables):
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
        variables.append({"name": _INDEX_VARIABLE, "valueFrom": source})
