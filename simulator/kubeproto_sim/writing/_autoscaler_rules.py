"""The rules of HorizontalPodAutoscalers."""

from __future__ import annotations

from ..storage._json_values import member, objects_in
from ._rule_violations import Json, Violations, forbidden, invalid, number, required, unsupported


def check_autoscaler(obj: Json) -> Violations:
    """Check a HorizontalPodAutoscaler."""
    spec = member(obj, "spec")
    min_replicas, max_replicas = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if max_replicas >= 1 and min_replicas >= 1 and max_replicas < min_replicas:
        yield invalid("spec.maxReplicas", max_replicas, "must be greater than or equal to `minReplicas`")
    target = member(spec, "scaleTargetRef")
    if not target.get("apiVersion") and "targetCPUUtilizationPercentage" not in spec:
        yield invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
    for index, metric in enumerate(objects_in(spec, "metrics")):
        yield from _metric(metric, f"spec.metrics[{index}]")
    if min_replicas == 0:
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        if not any(each.get("type") in ("Object", "External") for each in objects_in(spec, "metrics")):
            yield forbidden("spec.metrics", text)
    for direction in ("scaleUp", "scaleDown"):
        if rules := member(member(spec, "behavior"), direction):
            yield from _check_behavior(rules, f"spec.behavior.{direction}")


def _metric(metric: Json, path: str) -> Violations:
    fields = {"ContainerResource": "containerResource", "External": "external", "Object": "object",
              "Pods": "pods", "Resource": "resource"}  # fmt: skip
    type_ = metric.get("type", "")
    if type_ and type_ not in fields:
        yield unsupported(f"{path}.type", type_, tuple(fields))
    elif type_ and fields[type_] not in metric:
        yield required(f"{path}.{fields[type_]}", "must populate information for the given metric source")
    # A present source is checked even if the type names another source.
    for name in ("resource", "containerResource"):
        if source := member(metric, name):
            if not source.get("name"):
                yield required(f"{path}.{name}.name", "must specify a resource name")
            yield from _target(member(source, "target"), f"{path}.{name}.target")


def _target(target: Json, path: str) -> Violations:
    type_ = target.get("type", "")
    if not type_:
        yield required(f"{path}.type", "must specify a metric target type")
    if type_ not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.type", type_, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and number(target[name]) <= 0:
            yield invalid(f"{path}.{name}", str(target[name]), "must be positive")
    utilization, amount = target.get("averageUtilization"), target.get("averageValue")
    if utilization is not None and utilization < 1:
        yield invalid(f"{path}.averageUtilization", utilization, "must be greater than 0")
    if utilization is None and amount is None:
        text = "must set either a target raw value or a target utilization"
        yield required(f"{path}.averageUtilization", text)
    if utilization is not None and amount is not None:
        text = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.averageValue", text)


def _check_behavior(rules: Json, path: str) -> Violations:
    policies = ("Disabled", "Max", "Min")
    if (policy := rules.get("selectPolicy")) is not None and policy not in policies:
        yield unsupported(f"{path}.selectPolicy", policy, policies)
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and not 0 <= window <= 3600:
        text = "must be greater than or equal to zero"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, text)
    for index, scaling_policy in enumerate(objects_in(rules, "policies")):
        policy_path = f"{path}.policies[{index}]"
        if scaling_policy.get("type") not in ("Percent", "Pods"):
            yield unsupported(f"{policy_path}.type", scaling_policy.get("type", ""), ("Percent", "Pods"))
        if scaling_policy.get("value", 0) <= 0:
            yield invalid(f"{policy_path}.value", scaling_policy.get("value", 0), "must be greater than zero")
        if not 0 < scaling_policy.get("periodSeconds", 0) <= 1800:
            yield invalid(
                f"{policy_path}.periodSeconds",
                scaling_policy.get("periodSeconds", 0),
                "must be greater than zero",
            )
