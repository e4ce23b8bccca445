"""The cells of workloads, autoscalers and budgets."""

from __future__ import annotations

from typing import Any

from ..storage._json_values import listed, member, seconds_of
from ._cell_values import (
    NONE,
    UNKNOWN,
    UNSET,
    Json,
    age_of,
    ago,
    held_containers,
    name_of,
    pairs,
    selector_at,
    template_containers,
    value_at,
)


def revision(obj: Json, time: float) -> list[Any]:
    owners = listed(member(obj, "metadata"), "ownerReferences")
    owner = next((one for one in owners if one.get("controller")), None)
    shown = NONE
    if owner:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"
    return [name_of(obj), shown, obj.get("revision", 0), age_of(obj, time)]


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
    metrics = listed(spec, "metrics")
    shown: list[str] = []
    if (wanted := spec.get("targetCPUUtilizationPercentage")) is not None:
        now = value_at(obj, "status.currentCPUUtilizationPercentage", None)
        shown.append(f"cpu: {UNKNOWN if now is None else f'{now}%'}/{wanted}%")
    for metric, now in zip(
        metrics, [*listed(member(obj, "status"), "currentMetrics"), *metrics], strict=False
    ):
        shown.append(_metric(metric, now if now is not metric else {}))
    reference = f"{target.get('kind', '')}/{target.get('name', '')}"
    targets = ", ".join(shown[:2]) + (f" + {len(shown) - 2} more..." if len(shown) > 2 else "")
    least = spec.get("minReplicas")
    return [
        name_of(obj), reference, targets or NONE, UNSET if least is None else str(least),
        spec.get("maxReplicas", 0), value_at(obj, "status.currentReplicas", 0), age_of(obj, time),
    ]  # fmt: skip


def _metric(metric: Json, now: Json) -> str:
    kind = {"Resource": "resource", "ContainerResource": "containerResource", "Pods": "pods",
            "Object": "object", "External": "external"}.get(metric.get("type", ""), "")  # fmt: skip
    held, current = member(metric, kind), member(member(now, kind), "current")
    target = member(held, "target")
    if "averageUtilization" in target:
        value = current.get("averageUtilization")
        shown = f"{UNKNOWN if value is None else f'{value}%'}/{target['averageUtilization']}%"
    elif "averageValue" in target:
        suffix = " (avg)" if kind in ("object", "external") else ""
        shown = f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{suffix}"
    else:
        shown = f"{current.get('value', UNKNOWN)}/{target.get('value', '<auto>')}"
    return (
        f"{held['name']}: {shown}" if kind in ("resource", "containerResource") and "name" in held else shown
    )


def cron_job(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    last = value_at(obj, "status.lastScheduleTime", None)
    job = member(member(spec, "jobTemplate"), "spec")
    return [
        name_of(obj), spec.get("schedule", ""), spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))), len(listed(member(obj, "status"), "active")),
        ago(last, time) if last else NONE, age_of(obj, time),
        *held_containers(member(member(job, "template"), "spec")), selector_at(job, "selector"),
    ]  # fmt: skip


def job(obj: Json, time: float) -> list[Any]:
    spec, status = member(obj, "spec"), member(obj, "status")
    true = {c.get("type") for c in listed(status, "conditions") if c.get("status") == "True"}
    state = next((one for one in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")
                  if one in true), "Running")  # fmt: skip
    if state == "Running" and value_at(obj, "metadata.deletionTimestamp"):
        state = "Terminating"
    done, wanted = status.get("succeeded", 0), spec.get("completions")
    parallel = spec.get("parallelism", 0)
    many = f"1 of {parallel}" if parallel > 1 else "1"
    completions = f"{done}/{wanted if wanted is not None else many}"
    start, end = status.get("startTime"), status.get("completionTime")
    lasted = "" if not start else ago(start, time if not end else seconds_of(end))
    return [
        name_of(obj), state, completions, lasted, age_of(obj, time), *template_containers(obj),
        selector_at(obj, "spec.selector"),
    ]  # fmt: skip


def budget(obj: Json, time: float) -> list[Any]:
    least, most = value_at(obj, "spec.minAvailable", "N/A"), value_at(obj, "spec.maxUnavailable", "N/A")
    allowed = value_at(obj, "status.disruptionsAllowed", 0)
    return [name_of(obj), str(least), str(most), allowed, age_of(obj, time)]
