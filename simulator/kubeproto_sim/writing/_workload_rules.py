"""The checks of a server on workloads: selectors, strategies, schedules, budgets."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.objects import label_value_errors, qualified_name_errors

from ..kinds._kinds import Served
from ..storage._json_values import listed, member, texts
from ._cron import BadSchedule, read_schedule
from ._job_rules import job_spec
from ._pod_rules import Found, Json, check_labels, forbidden, invalid, required, unsupported

BUDGETS: Final = "poddisruptionbudgets.policy"


def restarts(served: Served, spec: Json, path: str) -> Found:
    """Return whether the pods of a kind may restart in this way."""
    policy, where = spec.get("restartPolicy"), f"{path}.restartPolicy"
    known = {"jobs.batch": ("OnFailure", "Never"), "cronjobs.batch": ("OnFailure", "Never")}.get(
        served.full_name, ("Always",)
    )
    if served.full_name in ("pods", "podtemplates") or policy in known:
        return
    if known == ("Always",):
        if policy in ("OnFailure", "Never"):
            yield unsupported(where, policy, known)
    elif policy in ("Always", None, ""):
        yield required(where, 'valid values: "OnFailure", "Never"')


def selector(found: Json | None, path: str) -> Found:
    """Return what is wrong with a label selector."""
    for key, value in member(found or {}, "matchLabels").items():
        yield from check_labels({key: value}, f"{path}.matchLabels")
    for at, one in enumerate(listed(found or {}, "matchExpressions")):
        where, operator = f"{path}.matchExpressions[{at}]", one.get("operator")
        if operator in ("In", "NotIn") and not one.get("values"):
            yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and one.get("values"):
            yield forbidden(
                f"{where}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
        elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield invalid(f"{where}.operator", operator or "", "not a valid selector operator")
        for fault in qualified_name_errors(one.get("key") or ""):
            yield invalid(f"{where}.key", one.get("key") or "", fault)
        for place, text in enumerate(texts(one, "values")):
            for fault in label_value_errors(text):
                yield invalid(f"{where}.values[{place}]", text, fault)


def workload(obj: Json, kind: str = "deployment") -> Found:
    """Return what is wrong with the selector of a workload, which has to select something.

    A server calls a ReplicaSet a deployment here.
    """
    found = member(obj, "spec").get("selector")
    faults = list(selector(found, "spec.selector"))
    yield from faults
    if found is not None and not member(found, "matchLabels") and not listed(found, "matchExpressions"):
        yield invalid("spec.selector", found, f"empty selector is invalid for {kind}")
    if any("matchExpressions" in one.field for one in faults):
        yield invalid("spec.selector", found, "invalid label selector")


def _zero(value: Any) -> bool:
    return value in (0, "0%", "0")


def deployment(obj: Json) -> Found:
    """A Deployment."""
    yield from workload(obj)
    spec = member(obj, "spec")
    strategy, path = member(spec, "strategy"), "spec.strategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in ("Recreate", "RollingUpdate"):
        yield unsupported(path, kind, ("Recreate", "RollingUpdate"))
    elif kind == "Recreate" and rolling is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden(f"{path}.rollingUpdate", text)
    elif rolling:
        most, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
        if _zero(most) and _zero(surge):
            text = "may not be 0 when `maxSurge` is 0"
            yield invalid(f"{path}.rollingUpdate.maxUnavailable", most, text)
        if above(most):
            yield invalid(f"{path}.rollingUpdate.maxUnavailable", most, "must not be greater than 100%")
    yield from _deadline(spec)


def _deadline(spec: Json) -> Found:
    """Return whether a rollout has more time than a pod needs to be available."""
    most, least = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds", 0)
    if most is not None and 0 < most <= least:
        yield invalid("spec.progressDeadlineSeconds", most, "must be greater than minReadySeconds")


def above(value: Any) -> bool:
    """Whether a value is more than 100%."""
    return isinstance(value, str) and value[:-1].isdigit() and value.endswith("%") and int(value[:-1]) > 100


def update_strategy(obj: Json, kind: str) -> Found:
    """A StatefulSet or a DaemonSet."""
    yield from workload(obj, kind)
    kind = member(member(obj, "spec"), "updateStrategy").get("type", "RollingUpdate")
    if kind not in ("RollingUpdate", "OnDelete"):
        yield unsupported("spec.updateStrategy", kind, ("RollingUpdate", "OnDelete"))


def stateful_set(obj: Json) -> Found:
    """A StatefulSet."""
    yield from update_strategy(obj, "statefulset")
    strategy = member(member(obj, "spec"), "updateStrategy")
    if strategy.get("type") == "OnDelete" and strategy.get("rollingUpdate") is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid("spec.updateStrategy.rollingUpdate", strategy["rollingUpdate"], text)


def daemon_set(obj: Json) -> Found:
    """A DaemonSet, which replaces pods before or after it removes them."""
    yield from update_strategy(obj, "daemonset")
    strategy, path = member(member(obj, "spec"), "updateStrategy"), "spec.updateStrategy.rollingUpdate"
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") != "RollingUpdate" or rolling is None:
        return
    for name in ("maxUnavailable", "maxSurge"):
        if above(rolling.get(name)):
            yield invalid(f"{path}.{name}", rolling[name], "must not be greater than 100%")
    if _zero(rolling.get("maxUnavailable")) and _zero(rolling.get("maxSurge")):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif not _zero(rolling.get("maxUnavailable")) and not _zero(rolling.get("maxSurge")):
        text = "may not be set when maxUnavailable is non-zero"
        yield invalid(f"{path}.maxSurge", rolling.get("maxSurge"), text)


def cron_job(obj: Json) -> Found:
    """A CronJob."""
    spec = member(obj, "spec")
    yield from _cron_template(member(member(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec")
    schedule = spec.get("schedule", "")
    if schedule:
        zoned = schedule.startswith(("TZ=", "CRON_TZ="))
        try:
            read_schedule(schedule.partition(" ")[2] if zoned else schedule)
        except BadSchedule as error:
            yield invalid("spec.schedule", schedule, str(error))
        if "TZ" in schedule:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            yield invalid("spec.schedule", schedule, text)
    if (zone := spec.get("timeZone")) is not None:
        yield from _time_zone(zone)
    if len(obj["metadata"].get("name", "")) > 52:
        yield invalid("metadata.name", obj["metadata"]["name"], "must be no more than 52 characters")


def _cron_template(spec: Json, path: str) -> Found:
    yield from job_spec(spec, path)
    if "selector" in spec:
        yield invalid(f"{path}.selector", spec["selector"], "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield unsupported(f"{path}.manualSelector", True, ("nil", "false"))


def _time_zone(name: str) -> Found:
    if not name:
        yield invalid("spec.timeZone", name, "timeZone must be nil or non-empty string")
        return
    if name.lower() == "local":
        where = "https://www.iana.org/time-zones"
        text = f"timeZone must be an explicit time zone as defined in {where}"
        yield invalid("spec.timeZone", name, text)
    if not _is_zone(name):
        yield invalid("spec.timeZone", name, f"unknown time zone {name}")


def _is_zone(name: str) -> bool:
    # A server knows the zones of its database; the core reads none, so it checks only the continent.
    area, slash, _ = name.partition("/")
    known = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Etc",
             "Indian", "Pacific", "US", "Canada", "Brazil", "Chile", "Mexico")  # fmt: skip
    return area in known if slash else name != "local"


def controller(obj: Json) -> Found:
    """A ReplicationController."""
    spec = member(obj, "spec")
    if not spec.get("selector"):
        yield required("spec.selector")
        return
    labels = member(member(member(spec, "template"), "metadata"), "labels")
    if "template" in spec and not spec["selector"].items() <= labels.items():
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def budget(obj: Json) -> Found:
    """A PodDisruptionBudget."""
    spec = member(obj, "spec")
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        if above(spec.get(name)):
            yield invalid(f"spec.{name}", spec[name], "must not be greater than 100%")
    yield from selector(spec.get("selector"), "spec.selector")
