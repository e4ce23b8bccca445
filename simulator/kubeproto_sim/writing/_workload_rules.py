"""The rules of workloads: selectors, strategies, schedules, disruption budgets."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.objects import label_value_errors, qualified_name_errors

from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in, strings_in
from ._cron_schedules import InvalidSchedule, parse_schedule
from ._job_rules import check_job_spec
from ._pod_rules import check_labels
from ._rule_violations import Json, Violations, forbidden, invalid, required, unsupported

BUDGETS: Final = "poddisruptionbudgets.policy"


def check_restart_policy(served: ServedKind, spec: Json, path: str) -> Violations:
    """Check the restart policy of the pods of a kind."""
    policy, field_path = spec.get("restartPolicy"), f"{path}.restartPolicy"
    supported = {"jobs.batch": ("OnFailure", "Never"), "cronjobs.batch": ("OnFailure", "Never")}.get(
        served.full_name, ("Always",)
    )
    if served.full_name in ("pods", "podtemplates"):
        return
    if supported == ("Always",) and spec.get("activeDeadlineSeconds") is not None:
        kind = {"deployments.apps": "ReplicaSet"}.get(served.full_name, served.kind)
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(f"{path}.activeDeadlineSeconds", text)
    if policy in supported:
        return
    if supported == ("Always",):
        if policy in ("OnFailure", "Never"):
            yield unsupported(field_path, policy, supported)
    elif policy in ("Always", None, ""):
        yield required(field_path, 'valid values: "OnFailure", "Never"')


def check_selector(label_selector: Json | None, path: str) -> Violations:
    """Check a label selector."""
    for key, value in member(label_selector or {}, "matchLabels").items():
        yield from check_labels({key: value}, f"{path}.matchLabels")
    for index, expression in enumerate(objects_in(label_selector or {}, "matchExpressions")):
        expression_path, operator = f"{path}.matchExpressions[{index}]", expression.get("operator")
        if operator in ("In", "NotIn") and not expression.get("values"):
            yield required(
                f"{expression_path}.values", "must be specified when `operator` is 'In' or 'NotIn'"
            )
        elif operator in ("Exists", "DoesNotExist") and expression.get("values"):
            yield forbidden(
                f"{expression_path}.values",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
        elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield invalid(f"{expression_path}.operator", operator or "", "not a valid selector operator")
        for fault in qualified_name_errors(expression.get("key") or ""):
            yield invalid(f"{expression_path}.key", expression.get("key") or "", fault)
        for value_index, text in enumerate(strings_in(expression, "values")):
            for fault in label_value_errors(text):
                yield invalid(f"{expression_path}.values[{value_index}]", text, fault)


def check_workload(obj: Json, kind: str = "deployment") -> Violations:
    """Check the selector of a workload, which must not be empty.

    A server calls a ReplicaSet a deployment here.
    """
    label_selector = member(obj, "spec").get("selector")
    faults = list(check_selector(label_selector, "spec.selector"))
    yield from faults
    if (
        label_selector is not None
        and not member(label_selector, "matchLabels")
        and not objects_in(label_selector, "matchExpressions")
    ):
        yield invalid("spec.selector", label_selector, f"empty selector is invalid for {kind}")
    if any("matchExpressions" in fault.field for fault in faults):
        yield invalid("spec.selector", label_selector, "invalid label selector")


def _is_zero(value: Any) -> bool:
    return value in (0, "0%", "0")


def check_deployment(obj: Json) -> Violations:
    """Check a Deployment."""
    yield from check_workload(obj)
    spec = member(obj, "spec")
    strategy, path = member(spec, "strategy"), "spec.strategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in ("Recreate", "RollingUpdate"):
        yield unsupported(path, kind, ("Recreate", "RollingUpdate"))
    elif kind == "Recreate" and rolling is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden(f"{path}.rollingUpdate", text)
    elif rolling:
        max_unavailable, max_surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
        if _is_zero(max_unavailable) and _is_zero(max_surge):
            text = "may not be 0 when `maxSurge` is 0"
            yield invalid(f"{path}.rollingUpdate.maxUnavailable", max_unavailable, text)
        if exceeds_100_percent(max_unavailable):
            yield invalid(
                f"{path}.rollingUpdate.maxUnavailable", max_unavailable, "must not be greater than 100%"
            )
    yield from _deadline(spec)


def _deadline(spec: Json) -> Violations:
    """Check that a rollout has more time than a pod needs to become available."""
    deadline, min_ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds", 0)
    if deadline is not None and 0 < deadline <= min_ready:
        yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def exceeds_100_percent(value: Any) -> bool:
    """Return whether a percentage exceeds 100%."""
    return isinstance(value, str) and value[:-1].isdigit() and value.endswith("%") and int(value[:-1]) > 100


def check_update_strategy(obj: Json, kind: str) -> Violations:
    """Check the update strategy of a StatefulSet or a DaemonSet."""
    yield from check_workload(obj, kind)
    kind = member(member(obj, "spec"), "updateStrategy").get("type", "RollingUpdate")
    if kind not in ("RollingUpdate", "OnDelete"):
        yield unsupported("spec.updateStrategy", kind, ("RollingUpdate", "OnDelete"))


def check_stateful_set(obj: Json) -> Violations:
    """Check a StatefulSet."""
    yield from check_update_strategy(obj, "statefulset")
    strategy = member(member(obj, "spec"), "updateStrategy")
    if strategy.get("type") == "OnDelete" and strategy.get("rollingUpdate") is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid("spec.updateStrategy.rollingUpdate", strategy["rollingUpdate"], text)


def check_daemon_set(obj: Json) -> Violations:
    """Check a DaemonSet, which has either surge or unavailable pods."""
    yield from check_update_strategy(obj, "daemonset")
    strategy, path = member(member(obj, "spec"), "updateStrategy"), "spec.updateStrategy.rollingUpdate"
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") != "RollingUpdate" or rolling is None:
        return
    for name in ("maxUnavailable", "maxSurge"):
        if exceeds_100_percent(rolling.get(name)):
            yield invalid(f"{path}.{name}", rolling[name], "must not be greater than 100%")
    if _is_zero(rolling.get("maxUnavailable")) and _is_zero(rolling.get("maxSurge")):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif not _is_zero(rolling.get("maxUnavailable")) and not _is_zero(rolling.get("maxSurge")):
        text = "may not be set when maxUnavailable is non-zero"
        yield invalid(f"{path}.maxSurge", rolling.get("maxSurge"), text)


def check_cron_job(obj: Json) -> Violations:
    """Check a CronJob."""
    spec = member(obj, "spec")
    yield from _cron_template(member(member(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec")
    schedule = spec.get("schedule", "")
    if schedule:
        has_zone = schedule.startswith(("TZ=", "CRON_TZ="))
        try:
            parse_schedule(schedule.partition(" ")[2] if has_zone else schedule)
        except InvalidSchedule as error:
            yield invalid("spec.schedule", schedule, str(error))
        if "TZ" in schedule:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            yield invalid("spec.schedule", schedule, text)
    if (zone := spec.get("timeZone")) is not None:
        yield from _time_zone(zone)
    if len(obj["metadata"].get("name", "").encode()) > 52:
        yield invalid("metadata.name", obj["metadata"]["name"], "must be no more than 52 characters")


def _cron_template(spec: Json, path: str) -> Violations:
    yield from check_job_spec(spec, path)
    if "selector" in spec:
        yield invalid(f"{path}.selector", spec["selector"], "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield unsupported(f"{path}.manualSelector", True, ("nil", "false"))


def _time_zone(name: str) -> Violations:
    if not name:
        yield invalid("spec.timeZone", name, "timeZone must be nil or non-empty string")
        return
    if name.lower() == "local":
        database_url = "https://www.iana.org/time-zones"
        text = f"timeZone must be an explicit time zone as defined in {database_url}"
        yield invalid("spec.timeZone", name, text)
    if not _is_zone(name):
        yield invalid("spec.timeZone", name, f"unknown time zone {name}")


def _is_zone(name: str) -> bool:
    # A server has a database of time zones; the simulator reads no files, so it checks only the continent.
    area, slash, _ = name.partition("/")
    areas = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Etc",
             "Indian", "Pacific", "US", "Canada", "Brazil", "Chile", "Mexico")  # fmt: skip
    return area in areas if slash else name != "local"


def check_replication_controller(obj: Json) -> Violations:
    """Check a ReplicationController."""
    spec = member(obj, "spec")
    if not spec.get("selector"):
        yield required("spec.selector")
        return
    labels = member(member(member(spec, "template"), "metadata"), "labels")
    if "template" in spec and not spec["selector"].items() <= labels.items():
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def check_budget(obj: Json) -> Violations:
    """Check a PodDisruptionBudget."""
    spec = member(obj, "spec")
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        if exceeds_100_percent(spec.get(name)):
            yield invalid(f"spec.{name}", spec[name], "must not be greater than 100%")
    yield from check_selector(spec.get("selector"), "spec.selector")
