"""Built-in kinds that are stored together: the same object, read and written in two versions or groups.

A server keeps an Event of either group as one of core/v1, and a HorizontalPodAutoscaler of either version as
one of autoscaling/v2. Fields that the other form does not have are kept in annotations there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from ..storage._json_values import is_list, is_map, listed, member

Json = dict[str, Any]

# Kinds that are stored with those of another group, by their full names.
STORED_WITH: Final = {"events.events.k8s.io": "events"}
_EVENT: Final = {
    "involvedObject": "regarding", "message": "note", "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp", "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount", "reportingComponent": "reportingController",
}  # fmt: skip
_EVENT_BACK: Final = {new: old for old, new in _EVENT.items()}
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
_CPU: Final = "targetCPUUtilizationPercentage"


class Version(Protocol):
    """A version of a kind, as far as a conversion needs it."""

    @property
    def type(self) -> str:
        """The name of its type in the description of the API."""
        ...

    @property
    def api_version(self) -> str:
        """Its group and version, as objects have them."""
        ...

    @property
    def kind(self) -> str:
        """Its kind, as objects have it."""
        ...


def convert(obj: Json, source: Version, target: Version) -> Json:
    """Return an object in another version that it is stored together with."""
    made = _CONVERSIONS[source.type](obj)
    return made | {"apiVersion": target.api_version, "kind": target.kind}


def _renamed(names: dict[str, str]) -> Callable[[Json], Json]:
    return lambda obj: {names.get(name, name): value for name, value in obj.items()}


def _to_v2(obj: Json) -> Json:
    made = dict(obj)
    meta = dict(member(obj, "metadata"))
    notes = dict(member(meta, "annotations"))
    spec = dict(member(obj, "spec"))
    metrics = _others(notes.pop(_METRICS, ""), _metric_to_v2)
    if (percentage := spec.pop(_CPU, None)) is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    if behavior := notes.pop(_BEHAVIOR, ""):
        spec["behavior"] = _recased(_decoded(behavior, {}), str.lower)
    return _with(made, meta, notes, spec)


def _to_v1(obj: Json) -> Json:
    made = dict(obj)
    meta = dict(member(obj, "metadata"))
    notes = dict(member(meta, "annotations"))
    spec = dict(member(obj, "spec"))
    others: list[Json] = []
    for metric in listed(spec, "metrics"):
        resource = member(metric, "resource")
        target = member(resource, "target")
        if _CPU not in spec and resource.get("name") == "cpu" and "averageUtilization" in target:
            spec[_CPU] = target["averageUtilization"]
        else:
            others.append(_metric_to_v1(metric))
    spec.pop("metrics", None)
    if others:
        notes[_METRICS] = msgspec.json.encode(others).decode()
    if behavior := spec.pop("behavior", None):
        notes[_BEHAVIOR] = msgspec.json.encode(_internal(behavior)).decode()
    return _with(made, meta, notes, spec)


def _with(made: Json, meta: Json, notes: Json, spec: Json) -> Json:
    if notes:
        meta["annotations"] = notes
    else:
        meta.pop("annotations", None)
    if "metadata" in made:
        made["metadata"] = meta
    if "spec" in made:
        made["spec"] = spec
    return made


def _internal(behavior: Json) -> Json:
    """Return a behavior as the annotation has it: Go's own names, and null for what is left out."""
    return {
        field: None
        if rules is None
        else {
            "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
            "SelectPolicy": rules.get("selectPolicy"),
            "Policies": _recased(listed(rules, "policies"), str.upper),
            "Tolerance": rules.get("tolerance"),
        }
        for field, rules in (("ScaleUp", behavior.get("scaleUp")), ("ScaleDown", behavior.get("scaleDown")))
    }


def _recased(value: Any, case: Callable[[str], str]) -> Any:
    """Return JSON with the first letter of its names in the other case; null is left out."""
    if is_map(value):
        held = {name: one for name, one in value.items() if one is not None}
        return {case(name[:1]) + name[1:]: _recased(one, case) for name, one in held.items()}
    return [_recased(one, case) for one in value] if is_list(value) else value


def _metric_to_v1(metric: Json) -> Json:
    """Return a metric as autoscaling/v1 writes it into an annotation, with targets as fields of their own."""
    made = {"type": metric.get("type")} | metric  # in the order of Go's fields
    for source in ("resource", "containerResource"):
        if held := member(metric, source):
            target = member(held, "target")
            flat = {name: value for name, value in held.items() if name != "target"}
            for old, new in (("averageUtilization", "targetAverageUtilization"),
                             ("averageValue", "targetAverageValue")):  # fmt: skip
                if old in target:
                    flat[new] = target[old]
            made[source] = flat
    if pods := member(metric, "pods"):
        average = member(pods, "target").get("averageValue")
        made["pods"] = {"metricName": member(pods, "metric").get("name"), "targetAverageValue": average}
    return made


def _metric_to_v2(metric: Json) -> Json:
    made = dict(metric)
    for source in ("resource", "containerResource"):
        if held := member(metric, source):
            flat = {name: value for name, value in held.items() if not name.startswith("target")}
            if "targetAverageUtilization" in held:
                percentage = held["targetAverageUtilization"]
                flat["target"] = {"type": "Utilization", "averageUtilization": percentage}
            elif "targetAverageValue" in held:
                flat["target"] = {"type": "AverageValue", "averageValue": held["targetAverageValue"]}
            made[source] = flat
    if pods := member(metric, "pods"):
        target = {"type": "AverageValue", "averageValue": pods.get("targetAverageValue")}
        made["pods"] = {"metric": {"name": pods.get("metricName")}, "target": target}
    return made


def _others(text: Any, change: Callable[[Json], Json]) -> list[Json]:
    found: Any = _decoded(text, [])
    return [change(one) for one in found if is_map(one)] if is_list(found) else []


def _decoded(text: Any, otherwise: Any) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return otherwise


_CONVERSIONS: Final[dict[str, Callable[[Json], Json]]] = {
    "core_v1.Event": _renamed(_EVENT),
    "events_v1.Event": _renamed(_EVENT_BACK),
    "autoscaling_v1.HorizontalPodAutoscaler": _to_v2,
    "autoscaling_v2.HorizontalPodAutoscaler": _to_v1,
}
