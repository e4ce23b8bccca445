"""The checks of a server on autoscalers."""

from __future__ import annotations

from ..storage._json_values import listed, member
from ._pod_rules import Found, Json, forbidden, invalid, number, required, unsupported


def autoscaler(obj: Json) -> Found:
    """A HorizontalPodAutoscaler."""
    spec = member(obj, "spec")
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if most >= 1 and least >= 1 and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = member(spec, "scaleTargetRef")
    if not target.get("apiVersion") and "targetCPUUtilizationPercentage" not in spec:
        yield invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
    for at, metric in enumerate(listed(spec, "metrics")):
        yield from _metric(metric, f"spec.metrics[{at}]")
    if least == 0:
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        if not any(one.get("type") in ("Object", "External") for one in listed(spec, "metrics")):
            yield forbidden("spec.metrics", text)
    for way in ("scaleUp", "scaleDown"):
        if rules := member(member(spec, "behavior"), way):
            yield from _scaling(rules, f"spec.behavior.{way}")


def _metric(metric: Json, path: str) -> Found:
    fields = {"ContainerResource": "containerResource", "External": "external", "Object": "object",
              "Pods": "pods", "Resource": "resource"}  # fmt: skip
    kind = metric.get("type", "")
    if kind and kind not in fields:
        yield unsupported(f"{path}.type", kind, tuple(fields))
    elif kind and fields[kind] not in metric:
        yield required(f"{path}.{fields[kind]}", "must populate information for the given metric source")
    # The source that is set is checked, even if the type names another one.
    for name in ("resource", "containerResource"):
        if held := member(metric, name):
            if not held.get("name"):
                yield required(f"{path}.{name}.name", "must specify a resource name")
            yield from _target(member(held, "target"), f"{path}.{name}.target")


def _target(target: Json, path: str) -> Found:
    kind = target.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and number(target[name]) <= 0:
            yield invalid(f"{path}.{name}", str(target[name]), "must be positive")
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    if share is not None and share < 1:
        yield invalid(f"{path}.averageUtilization", share, "must be greater than 0")
    if share is None and amount is None:
        text = "must set either a target raw value or a target utilization"
        yield required(f"{path}.averageUtilization", text)
    if share is not None and amount is not None:
        text = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.averageValue", text)


def _scaling(rules: Json, path: str) -> Found:
    known = ("Disabled", "Max", "Min")
    if (policy := rules.get("selectPolicy")) is not None and policy not in known:
        yield unsupported(f"{path}.selectPolicy", policy, known)
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and not 0 <= window <= 3600:
        text = "must be greater than or equal to zero"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, text)
    for at, one in enumerate(listed(rules, "policies")):
        where = f"{path}.policies[{at}]"
        if one.get("type") not in ("Percent", "Pods"):
            yield unsupported(f"{where}.type", one.get("type", ""), ("Percent", "Pods"))
        if one.get("value", 0) <= 0:
            yield invalid(f"{where}.value", one.get("value", 0), "must be greater than zero")
        if not 0 < one.get("periodSeconds", 0) <= 1800:
            yield invalid(f"{where}.periodSeconds", one.get("periodSeconds", 0), "must be greater than zero")
