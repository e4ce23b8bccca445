"""Compiles observations to tables: defaults, which may depend on a neighbour field, rules and orders."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any, Final

from kubeproto.kinds import kind_table
from tools.probing.notes import MISSING, Observations

Json = dict[str, Any]

# Fields that are computed by the server, or set only in the probed context.
COMPUTED: Final = frozenset((
    "core_v1.Container.imagePullPolicy", "core_v1.ImageVolumeSource.pullPolicy", "batch_v1.JobSpec.selector",
    "core_v1.LimitRangeItem.default", "core_v1.LimitRangeItem.defaultRequest", "core_v1.NodeSpec.podCIDR",
    "core_v1.NodeSpec.podCIDRs", "core_v1.Pod.status", "core_v1.PersistentVolume.status",
    "core_v1.PodSpec.serviceAccount", "core_v1.PodSpec.serviceAccountName", "core_v1.PodSpec.tolerations",
    "core_v1.PodSpec.priority", "core_v1.PodSpec.preemptionPolicy", "core_v1.ResourceRequirements.requests",
    "core_v1.Secret.data", "core_v1.ServicePort.nodePort", "core_v1.ServicePort.targetPort",
    "core_v1.ServiceSpec.clusterIP", "core_v1.ServiceSpec.clusterIPs", "core_v1.ServiceSpec.ipFamilies",
    "core_v1.ServiceSpec.ipFamilyPolicy", "core_v1.ServiceSpec.healthCheckNodePort",
    "core_v1.Volume.emptyDir",
    "meta_v1.LabelSelector.matchLabels", "networking_v1.NetworkPolicySpec.policyTypes",
    "core_v1.ReplicationControllerSpec.selector", "autoscaling_v2.HPAScalingRules.policies",
    "autoscaling_v2.HPAScalingRules.stabilizationWindowSeconds", "core_v1.Namespace.spec",
    "core_v1.NamespaceSpec.finalizers", "core_v1.Namespace.status",
    "autoscaling_v2.HPAScalingRules.selectPolicy", "certificates_v1.CertificateSigningRequestSpec.username",
    "certificates_v1.CertificateSigningRequestSpec.groups",
    "certificates_v1.CertificateSigningRequestSpec.uid",
    "certificates_v1.CertificateSigningRequestSpec.extra", "apiextensions_v1.CustomResourceDefinition.status",
    "core_v1.Node.spec", "core_v1.NodeSpec.taints", "core_v1.ServiceAccount.secrets",
    "core_v1.Toleration.operator",
    "rbac_authorization_v1.RoleRef.kind",
    "autoscaling_v1.HorizontalPodAutoscalerSpec.targetCPUUtilizationPercentage",
    "core_v1.PersistentVolumeClaim.status",
))  # fmt: skip
# Types whose rules depend on the containing field.
LOOSE: Final = frozenset(("core_v1.ObjectReference", "core_v1.LocalObjectReference", "meta_v1.LabelSelector"))
# The beginning of a violation's detail, and the name of the format that it belongs to.
FORMATS: Final = {
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-'": "subdomain",
    "a lowercase RFC 1123 label must": "label",
    "a DNS-1035 label must": "dns1035",
    "name part must": "qualified",
    "a valid label must": "label-value",
    "must be a valid IP address": "ip",
    "must be a valid CIDR": "cidr",
    "must be an absolute path": "absolute",
    "must start with a '/'": "absolute",
    "must contain only alpha-numeric": "port-name",
    "must be a domain-prefixed path": "domain-path",
    "a valid percent string": "percent",
    "'https' is the only allowed URL scheme": "https",
    "not a valid selector operator": "operator",
    "must be 'OrderedReady' or 'Parallel'": "pod-management",
    "can have at most 128 characters": "128",
}
# It has the message of a label selector, and accepts two more operators: Gt and Lt.
NODE_OPERATOR: Final = ("core_v1.NodeSelectorRequirement", "operator")
_PREFIX: Final = re.compile(r'^(?:Invalid|Unsupported) value: (?:"(?:[^"\\]|\\.)*"|\S+?): ', re.DOTALL)
_RANGE: Final = re.compile(r"(\d+)(?:,? and |-)(\d+)")
_SUPPORTED: Final = "supported values: "


def tables_of(observations: Observations) -> Json:
    """Return the tables: `defaults`, `rules`, `zeros`, `nulls` and `orders`, by type."""

    def rule(type_: str, name: str, faults: dict[str, Any]) -> Any:
        field_rule = _rule(observations, type_, name, faults)
        if (type_, name) == NODE_OPERATOR and field_rule and "format" in field_rule:
            field_rule["format"][0] = "node operator"
        return field_rule

    return {
        "defaults": _by_type(observations.defaults, _default),
        "rules": _by_type(observations.faults, rule),
        "zeros": _by_type(observations.zeros, _zero),
        "nulls": {
            type_: entries
            for type_ in sorted(observations.defaults)
            if (
                entries := sorted(
                    name for name, observed in observations.defaults[type_].items() if _nulls(observed)
                )
            )
        },
        "orders": {
            type_: entries
            for type_ in sorted(observations.orders)
            if (entries := _order(observations.orders[type_]))
        },
    }


def _by_type(observations: Any, compile_: Any) -> Json:
    tables: Json = {}
    for type_ in sorted(observations):
        fields = {
            name: entry
            for name in sorted(observations[type_])
            if (entry := compile_(type_, name, observations[type_][name])) is not None
        }
        if fields:
            tables[type_] = fields
    return tables


def _default(type_: str, name: str, observed: list[tuple[str, Json, Any]]) -> Any:
    """Return ``[value]`` for a constant, ``[name, {text: value}]`` if it depends on a field or the kind."""
    if f"{type_}.{name}" in COMPUTED or all(value == MISSING for _, _, value in observed):
        return None
    if all(value == observed[0][2] for _, _, value in observed):
        return None if observed[0][2] is None else [observed[0][2]]
    roots: dict[str, list[Any]] = defaultdict(list)
    for root, _, value in observed:
        roots[root].append(value)
    if all(value == values[0] for values in roots.values() for value in values):
        return ["<kind>", {root: values[0] for root, values in roots.items() if values[0] != MISSING}]
    for sibling in sorted({key for _, neighbours, _ in observed for key in neighbours}):
        values_by_text: dict[str, list[Any]] = defaultdict(list)
        for _, neighbours, value in observed:
            values_by_text[json.dumps(neighbours.get(sibling))].append(value)
        few = len(values_by_text) <= max(2, len(observed) // 3) or "type" in sibling
        if few and all(value == values[0] for values in values_by_text.values() for value in values):
            return [
                sibling,
                {key: values[0] for key, values in values_by_text.items() if values[0] != MISSING},
            ]
    return None


def _nulls(observed: list[tuple[str, Json, Any]]) -> bool:
    return any(value is None for _, _, value in observed)


def _causes(fault: list[Any] | None) -> list[tuple[str, str]]:
    """Return the (reason, message) pairs of a fault, skipping its leading count of other causes."""
    return fault[1:] if fault else []


def _rule(observations: Observations, type_: str, name: str, faults: dict[str, Any]) -> Any:
    """Return the rule of a field: whether it is required, its enum, its ranges and its format."""
    if type_ in LOOSE or f"{type_}.{name}" in COMPUTED:
        return None
    rule: Json = {}
    for reason, message in _causes(faults.get("null") or faults.get('""')):
        # A field that some accepted object omits is required only in some context.
        absent_once = any(
            value == MISSING for _, _, value in observations.defaults.get(type_, {}).get(name, ())
        )
        if reason == "FieldValueRequired" and not absent_once:
            rule["required"] = message.removeprefix("Required value").removeprefix(": ")
    for text, fault in faults.items():
        value = json.loads(text)
        for reason, message in _causes(fault):
            detail = _PREFIX.sub("", message, count=1)
            if reason == "FieldValueNotSupported" and detail.startswith(_SUPPORTED) and value:
                rule["enum"] = json.loads(f"[{detail.removeprefix(_SUPPORTED)}]")
            elif reason == "FieldValueInvalid" and isinstance(value, int):
                _add_range(rule, faults, detail)
            elif reason == "FieldValueInvalid" and isinstance(value, str) and value:
                for start, check in FORMATS.items():
                    if detail.startswith(start):
                        rule["format"] = [check, detail]
    return rule or None


def _add_range(rule: Json, faults: dict[str, Any], detail: str) -> None:
    minimum: int | None = None
    maximum: int | None = None
    if match := _RANGE.search(detail):
        minimum, maximum = (
            int(number, 8) if number.startswith("0") else int(number) for number in match.groups()
        )
    elif "less than or equal" in detail and (last := re.search(r"\d+", detail)):
        maximum = int(last[0])
    elif "positive and less than" in detail and (last := re.search(r"\d+", detail)):
        minimum, maximum = 1, int(last[0])
    elif "minReplicas" in detail or "healthCheck" in detail or "may only" in detail:
        return
    elif faults.get("-1") and "0" in faults:
        minimum = 1 if _has_detail(faults["0"], detail) else 0
    if (minimum, maximum) != (None, None):
        ranges = rule.setdefault("ranges", [])
        if [minimum, maximum, detail] not in ranges:
            ranges.append([minimum, maximum, detail])


def _has_detail(fault: Any, detail: str) -> bool:
    return any(detail in message for _, message in _causes(fault))


def _zero(type_: str, name: str, outcomes: set[str]) -> Any:
    """Return whether an empty value is stored; None if the observations differ."""
    return "kept" in outcomes if len(outcomes) == 1 else None


def _order(observed: set[tuple[str, ...]]) -> list[str]:
    """Return an order that agrees with all observed ones."""
    predecessors: dict[str, set[str]] = defaultdict(set)
    for names in observed:
        for index, name in enumerate(names):
            predecessors[name] |= {*names[:index]}
    order: list[str] = []
    while remaining := [name for name in sorted(predecessors) if name not in order]:
        order.append(next((name for name in remaining if predecessors[name] <= {*order}), remaining[0]))
    return order


def check_types(tables: Json) -> None:
    """Assert that every type is in the table of kinds."""
    types = kind_table().types
    assert all(type_ in types for part in tables.values() for type_ in part)
