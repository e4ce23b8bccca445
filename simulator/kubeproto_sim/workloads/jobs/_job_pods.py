"""The pods of a Job: their index, whether they have failed, which are surplus, and new pods."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import copy_json

from ...storage._json_values import member, objects_in, strings_in
from ..loops._pod_control import pod_from
from ..objects._deletion_order import in_order_of_deletion
from ..objects._object_client import Json
from ..objects._status_conditions import is_terminating, phase
from ._job_failures import judge_failure

TRACKING: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_MAX_GENERATE_NAME: Final = 58


def is_indexed(job: Json) -> bool:
    """Return whether each completion of a Job has an index."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def has_limit_per_index(job: Json) -> bool:
    """Return whether the backoff limit applies to each index separately."""
    return job["spec"].get("backoffLimitPerIndex") is not None


def is_tracked(pod: Json) -> bool:
    """Return whether a pod has not been counted yet."""
    return TRACKING in strings_in(pod["metadata"], "finalizers")


def index_of(pod: Json) -> int | None:
    """Return the completion index of a pod; None if it has none, or no number."""
    text = str(member(pod["metadata"], "annotations").get(INDEX, ""))
    return int(text) if text.isdecimal() else None


def has_valid_index(pod: Json, job: Json) -> bool:
    """Return whether a pod counts: a pod of an indexed Job needs an index below the completions."""
    if not is_indexed(job):
        return True
    index, completions = index_of(pod), job["spec"].get("completions")
    return index is not None and completions is not None and index < completions


def replaces_only_failed(job: Json) -> bool:
    """Return whether a pod is replaced after its end alone, and not while it is being deleted."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy") is not None


def has_failed(pod: Json, job: Json) -> bool:
    """Return whether a pod counts as failed.

    A pod that is being deleted has failed, unless the Job waits for its end.
    """
    if phase(pod) == "Failed":
        return True
    return not replaces_only_failed(job) and is_terminating(pod) and phase(pod) != "Succeeded"


def failure_counts(pod: Json | None) -> tuple[int, int]:
    """Return how many failures of its index a pod follows: those that count, and the ignored ones."""
    annotations = member(pod["metadata"], "annotations") if pod is not None else {}
    counted, ignored = str(annotations.get(FAILURES, "")), str(annotations.get(IGNORED_FAILURES, ""))
    return int(counted) if counted.isdecimal() else 0, int(ignored) if ignored.isdecimal() else 0


def surplus_pods(job: Json, active: list[Json], count: int, now: float) -> list[Json]:
    """Return `count` pods or more to delete: those without an index, duplicates, and then the cheapest."""
    completions: int | None = job["spec"].get("completions")
    if not is_indexed(job) or completions is None:
        return in_order_of_deletion(active, [], now)[:count]
    by_index: dict[int | None, list[Json]] = {}
    for pod in active:
        by_index.setdefault(index_of(pod), []).append(pod)
    doomed: list[Json] = []
    unique: list[Json] = []
    for index, pods in by_index.items():
        if index is None or index >= completions:
            doomed += pods
            continue
        in_order = in_order_of_deletion(pods, [], now)
        doomed += in_order[:-1]
        unique.append(in_order[-1])
    missing = max(count - len(doomed), 0)
    return doomed + in_order_of_deletion(unique, [], now)[:missing]


def new_pod(job: Json, index: int | None, replaced: Json | None) -> Json:
    """Return a new pod of a Job; `replaced` is the failed pod of the same index; None without such a pod."""
    template: Json = copy_json(job["spec"]["template"])
    meta: Json = template.setdefault("metadata", {})
    finalizers = meta.setdefault("finalizers", [])
    if TRACKING not in finalizers:
        finalizers.append(TRACKING)
    if index is None:
        return pod_from(template, job)
    for group in ("initContainers", "containers"):
        for container in objects_in(template["spec"], group):
            _add_index_variable(container)
    meta.setdefault("annotations", {})[INDEX] = str(index)
    meta.setdefault("labels", {})[INDEX] = str(index)
    template["spec"]["hostname"] = f"{job['metadata']['name']}-{index}"
    if has_limit_per_index(job):
        counted, ignored = failure_counts(replaced)
        if replaced is not None:
            counts = judge_failure(job, replaced).counts
            counted, ignored = counted + counts, ignored + (not counts)
        meta["annotations"][FAILURES] = str(counted)
        if ignored:
            meta["annotations"][IGNORED_FAILURES] = str(ignored)
    pod = pod_from(template, job)
    suffix = f"-{index}-"
    pod["metadata"]["generateName"] = job["metadata"]["name"][: _MAX_GENERATE_NAME - len(suffix)] + suffix
    return pod


def _add_index_variable(container: Json) -> None:
    variables: list[Json] = container.setdefault("env", [])
    if not any(variable["name"] == _INDEX_VARIABLE for variable in variables):
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
        variables.append({"name": _INDEX_VARIABLE, "valueFrom": source})
