"""Rows of Tables for workloads, autoscalers and disruption budgets."""

from __future__ import annotations

from typing import Any, Final

from ..storage._json_values import member, objects_in, seconds_of
from ._cell_values import (
    NONE,
    UNKNOWN,
    UNSET,
    Json,
    age_of,
    ago,
    containers_of,
    name_of,
    pairs,
    selector_at,
    template_containers,
    true_conditions,
    value_at,
)

# The conditions of a job that are its status, by precedence.
_JOB_STATES: Final = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")


def revision(obj: Json, time: float) -> list[Any]:
    owners = objects_in(member(obj, "metadata"), "ownerReferences")
    owner = next((reference for reference in owners if reference.get("controller")), None)
    text = NONE
    if owner:
        group = owner["apiVersion"].rpartition("/")[0]
        text = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"
    return [name_of(obj), text, obj.get("revision", 0), age_of(obj, time)]


def daemon_set(obj: Json, time: float) -> list[Any]:
    status = member(obj, "status")
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
             "numberAvailable")  # fmt: skip
    spec = member(member(member(obj, "spec"), "template"), "spec")
    return [
        name_of(obj), *(status.get(name, 0) for name in names), pairs(member(spec, "nodeSelector")),
        age_of(obj, time), *template_containers(obj), selector_at(obj, "spec.selector"),
    ]  # fmt: skip


def deployment(obj: Json, time: float) -> list[Any]:
    ready = f"{value_at(obj, 'status.readyReplicas', 0)}/{value_at(obj, 'spec.replicas', 0)}"
    return [
        name_of(obj), ready, value_at(obj, "status.updatedReplicas", 0),
        value_at(obj, "status.availableReplicas", 0),
        age_of(obj, time), *template_containers(obj), selector_at(obj, "spec.selector"),
    ]  # fmt: skip


def stateful_set(obj: Json, time: float) -> list[Any]:
    ready = f"{value_at(obj, 'status.readyReplicas', 0)}/{value_at(obj, 'spec.replicas', 0)}"
    return [name_of(obj), ready, age_of(obj, time), *template_containers(obj)]


def autoscaler(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    target = member(spec, "scaleTargetRef")
    metrics = objects_in(spec, "metrics")
    texts: list[str] = []
    if (target_percentage := spec.get("targetCPUUtilizationPercentage")) is not None:
        percentage = value_at(obj, "status.currentCPUUtilizationPercentage", None)
        current_text = UNKNOWN if percentage is None else f"{percentage}%"
        texts.append(f"cpu: {current_text}/{target_percentage}%")
    for metric, current in zip(
        metrics, [*objects_in(member(obj, "status"), "currentMetrics"), *metrics], strict=False
    ):
        texts.append(_metric(metric, current if current is not metric else {}))
    reference = f"{target.get('kind', '')}/{target.get('name', '')}"
    targets = ", ".join(texts[:2]) + (f" + {len(texts) - 2} more..." if len(texts) > 2 else "")
    min_replicas = spec.get("minReplicas")
    return [
        name_of(obj), reference, targets or NONE, UNSET if min_replicas is None else str(min_replicas),
        spec.get("maxReplicas", 0), value_at(obj, "status.currentReplicas", 0), age_of(obj, time),
    ]  # fmt: skip


def _metric(metric: Json, status: Json) -> str:
    kind = {"Resource": "resource", "ContainerResource": "containerResource", "Pods": "pods",
            "Object": "object", "External": "external"}.get(metric.get("type", ""), "")  # fmt: skip
    source, current = member(metric, kind), member(member(status, kind), "current")
    target = member(source, "target")
    if "averageUtilization" in target:
        value = current.get("averageUtilization")
        text = f"{UNKNOWN if value is None else f'{value}%'}/{target['averageUtilization']}%"
    elif "averageValue" in target:
        suffix = " (avg)" if kind in ("object", "external") else ""
        text = f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{suffix}"
    else:
        text = f"{current.get('value', UNKNOWN)}/{target.get('value', '<auto>')}"
    return (
        f"{source['name']}: {text}"
        if kind in ("resource", "containerResource") and "name" in source
        else text
    )


def cron_job(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    last = value_at(obj, "status.lastScheduleTime", None)
    job = member(member(spec, "jobTemplate"), "spec")
    return [
        name_of(obj), spec.get("schedule", ""), spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))), len(objects_in(member(obj, "status"), "active")),
        ago(last, time) if last else NONE, age_of(obj, time),
        *containers_of(member(member(job, "template"), "spec")), selector_at(job, "selector"),
    ]  # fmt: skip


def job(obj: Json, time: float) -> list[Any]:
    spec, status = member(obj, "spec"), member(obj, "status")
    true_types = true_conditions(status)
    state = next((type_ for type_ in _JOB_STATES if type_ in true_types), "Running")
    if state == "Running" and value_at(obj, "metadata.deletionTimestamp"):
        state = "Terminating"
    succeeded, completions = status.get("succeeded", 0), spec.get("completions")
    parallel = spec.get("parallelism", 0)
    target = f"1 of {parallel}" if parallel > 1 else "1"
    progress = f"{succeeded}/{completions if completions is not None else target}"
    start, end = status.get("startTime"), status.get("completionTime")
    duration = "" if not start else ago(start, time if not end else seconds_of(end))
    return [
        name_of(obj), state, progress, duration, age_of(obj, time), *template_containers(obj),
        selector_at(obj, "spec.selector"),
    ]  # fmt: skip


def budget(obj: Json, time: float) -> list[Any]:
    min_available = value_at(obj, "spec.minAvailable", "N/A")
    max_unavailable = value_at(obj, "spec.maxUnavailable", "N/A")
    allowed = value_at(obj, "status.disruptionsAllowed", 0)
    return [name_of(obj), str(min_available), str(max_unavailable), allowed, age_of(obj, time)]
