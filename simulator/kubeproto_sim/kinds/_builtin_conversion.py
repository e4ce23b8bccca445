"""Conversions of built-in kinds that share a storage: the same object in two versions or groups.

A server stores Events of both groups as core/v1, and HorizontalPodAutoscalers of both versions as
autoscaling/v2. Fields without a counterpart are preserved in annotations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from kubeproto.objects import is_list, is_object

from ..storage._json_values import member, objects_in

Json = dict[str, Any]

# Kinds that share the storage of another group, by their full names.
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
    """The properties of a version that a conversion needs."""

    @property
    def type(self) -> str:
        """The name of the type in the table of kinds."""
        ...

    @property
    def api_version(self) -> str:
        """The apiVersion of objects."""
        ...

    @property
    def kind(self) -> str:
        """The kind of objects."""
        ...


def convert(obj: Json, source: Version, target: Version) -> Json:
    """Return an object in another version that shares its storage."""
    converted = _CONVERSIONS[source.type](obj)
    return converted | {"apiVersion": target.api_version, "kind": target.kind}


def _renamed(names: dict[str, str]) -> Callable[[Json], Json]:
    return lambda obj: {names.get(name, name): value for name, value in obj.items()}


def _to_v2(obj: Json) -> Json:
    converted = dict(obj)
    meta = dict(member(obj, "metadata"))
    annotations = dict(member(meta, "annotations"))
    spec = dict(member(obj, "spec"))
    metrics = _metrics_from_annotation(annotations.pop(_METRICS, ""), _metric_to_v2)
    if (percentage := spec.pop(_CPU, None)) is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    if behavior := annotations.pop(_BEHAVIOR, ""):
        spec["behavior"] = _recased(_decode_or_default(behavior, {}), str.lower)
    return _assemble(converted, meta, annotations, spec)


def _to_v1(obj: Json) -> Json:
    converted = dict(obj)
    meta = dict(member(obj, "metadata"))
    annotations = dict(member(meta, "annotations"))
    spec = dict(member(obj, "spec"))
    other_metrics: list[Json] = []
    for metric in objects_in(spec, "metrics"):
        resource = member(metric, "resource")
        target = member(resource, "target")
        if _CPU not in spec and resource.get("name") == "cpu" and "averageUtilization" in target:
            spec[_CPU] = target["averageUtilization"]
        else:
            other_metrics.append(_metric_to_v1(metric))
    spec.pop("metrics", None)
    if other_metrics:
        annotations[_METRICS] = msgspec.json.encode(other_metrics).decode()
    if behavior := spec.pop("behavior", None):
        annotations[_BEHAVIOR] = msgspec.json.encode(_internal(behavior)).decode()
    return _assemble(converted, meta, annotations, spec)


def _assemble(converted: Json, meta: Json, annotations: Json, spec: Json) -> Json:
    if annotations:
        meta["annotations"] = annotations
    else:
        meta.pop("annotations", None)
    if "metadata" in converted:
        converted["metadata"] = meta
    if "spec" in converted:
        converted["spec"] = spec
    return converted


def _internal(behavior: Json) -> Json:
    """Return a behavior in the form of the annotation: Go's names, and null for missing fields."""
    return {
        field: None
        if rules is None
        else {
            "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
            "SelectPolicy": rules.get("selectPolicy"),
            "Policies": _recased(objects_in(rules, "policies"), str.upper),
            "Tolerance": rules.get("tolerance"),
        }
        for field, rules in (("ScaleUp", behavior.get("scaleUp")), ("ScaleDown", behavior.get("scaleDown")))
    }


def _recased(value: Any, case: Callable[[str], str]) -> Any:
    """Return JSON with the first letter of its names in another case, and without null."""
    if is_object(value):
        members = {name: member_value for name, member_value in value.items() if member_value is not None}
        return {
            case(name[:1]) + name[1:]: _recased(member_value, case) for name, member_value in members.items()
        }
    return [_recased(member_value, case) for member_value in value] if is_list(value) else value


def _metric_to_v1(metric: Json) -> Json:
    """Return a metric in the annotation of autoscaling/v1, in which targets are flat fields."""
    converted = {"type": metric.get("type")} | metric  # in the order of Go's fields
    for source in ("resource", "containerResource"):
        if source_fields := member(metric, source):
            target = member(source_fields, "target")
            flat = {name: value for name, value in source_fields.items() if name != "target"}
            for old, new in (("averageUtilization", "targetAverageUtilization"),
                             ("averageValue", "targetAverageValue")):  # fmt: skip
                if old in target:
                    flat[new] = target[old]
            converted[source] = flat
    if pods := member(metric, "pods"):
        average = member(pods, "target").get("averageValue")
        converted["pods"] = {"metricName": member(pods, "metric").get("name"), "targetAverageValue": average}
    return converted


def _metric_to_v2(metric: Json) -> Json:
    converted = dict(metric)
    for source in ("resource", "containerResource"):
        if source_fields := member(metric, source):
            flat = {name: value for name, value in source_fields.items() if not name.startswith("target")}
            if "targetAverageUtilization" in source_fields:
                percentage = source_fields["targetAverageUtilization"]
                flat["target"] = {"type": "Utilization", "averageUtilization": percentage}
            elif "targetAverageValue" in source_fields:
                flat["target"] = {"type": "AverageValue", "averageValue": source_fields["targetAverageValue"]}
            converted[source] = flat
    if pods := member(metric, "pods"):
        target = {"type": "AverageValue", "averageValue": pods.get("targetAverageValue")}
        converted["pods"] = {"metric": {"name": pods.get("metricName")}, "target": target}
    return converted


def _metrics_from_annotation(text: Any, convert_metric: Callable[[Json], Json]) -> list[Json]:
    metrics: Any = _decode_or_default(text, [])
    return [convert_metric(metric) for metric in metrics if is_object(metric)] if is_list(metrics) else []


def _decode_or_default(text: Any, default: Any) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError, RecursionError):
        return default


_CONVERSIONS: Final[dict[str, Callable[[Json], Json]]] = {
    "core_v1.Event": _renamed(_EVENT),
    "events_v1.Event": _renamed(_EVENT_BACK),
    "autoscaling_v1.HorizontalPodAutoscaler": _to_v2,
    "autoscaling_v2.HorizontalPodAutoscaler": _to_v1,
}
