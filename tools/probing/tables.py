"""From notes to tables: which defaults always hold and which hang on a neighbour, and what is refused."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any, Final

from kubeproto.kinds import table
from tools.probing.notes import MISSING, Notes

Json = dict[str, Any]

# What a server computes: these fields are filled in by code, or stand only in the probed context.
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
    "core_v1.ServiceAccount.secrets",
    "rbac_authorization_v1.RoleRef.kind",
    "autoscaling_v1.HorizontalPodAutoscalerSpec.targetCPUUtilizationPercentage",
    "core_v1.PersistentVolumeClaim.status",
))  # fmt: skip
# Types whose fields mean something else wherever they stand.
LOOSE: Final = frozenset(("core_v1.ObjectReference", "core_v1.LocalObjectReference", "meta_v1.LabelSelector"))
# Details of a text that is refused, and the name of the check that finds it.
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
# Says the same as a label selector, and takes two operators more: Gt and Lt.
NODE_OPERATOR: Final = ("core_v1.NodeSelectorRequirement", "operator")
_PREFIX: Final = re.compile(r'^(?:Invalid|Unsupported) value: (?:"(?:[^"\\]|\\.)*"|\S+?): ', re.DOTALL)
_RANGE: Final = re.compile(r"(\d+)(?:,? and |-)(\d+)")
_SUPPORTED: Final = "supported values: "


def tables_of(notes: Notes) -> Json:
    """The tables: `defaults`, `rules`, `zeros` and `orders`, by type."""

    def rule(type_: str, name: str, faults: dict[str, Any]) -> Any:
        found = _rule(notes, type_, name, faults)
        if (type_, name) == NODE_OPERATOR and found and "format" in found:
            found["format"][0] = "node operator"
        return found

    return {
        "defaults": _by_type(notes.defaults, _default),
        "rules": _by_type(notes.faults, rule),
        "zeros": _by_type(notes.zeros, _zero),
        "nulls": {
            type_: found
            for type_ in sorted(notes.defaults)
            if (found := sorted(name for name, seen in notes.defaults[type_].items() if _nulls(seen)))
        },
        "orders": {type_: found for type_ in sorted(notes.orders) if (found := _order(notes.orders[type_]))},
    }


def _by_type(found: Any, compile_: Any) -> Json:
    made: Json = {}
    for type_ in sorted(found):
        fields = {
            name: one
            for name in sorted(found[type_])
            if (one := compile_(type_, name, found[type_][name])) is not None
        }
        if fields:
            made[type_] = fields
    return made


def _default(type_: str, name: str, seen: list[tuple[str, Json, Any]]) -> Any:
    """``[value]`` if it always holds, ``[by, {text: value}]`` if it hangs on a neighbour or the kind."""
    if f"{type_}.{name}" in COMPUTED or all(value == MISSING for _, _, value in seen):
        return None
    if all(value == seen[0][2] for _, _, value in seen):
        return None if seen[0][2] is None else [seen[0][2]]
    roots: dict[str, list[Any]] = defaultdict(list)
    for root, _, value in seen:
        roots[root].append(value)
    if all(value == values[0] for values in roots.values() for value in values):
        return ["<kind>", {root: values[0] for root, values in roots.items() if values[0] != MISSING}]
    for sibling in sorted({key for _, beside, _ in seen for key in beside}):
        found: dict[str, list[Any]] = defaultdict(list)
        for _, beside, value in seen:
            found[json.dumps(beside.get(sibling))].append(value)
        few = len(found) <= max(2, len(seen) // 3) or "type" in sibling
        if few and all(value == values[0] for values in found.values() for value in values):
            return [sibling, {key: values[0] for key, values in found.items() if values[0] != MISSING}]
    return None


def _nulls(seen: list[tuple[str, Json, Any]]) -> bool:
    return any(value is None for _, _, value in seen)


def _causes(found: list[Any] | None) -> list[tuple[str, str]]:
    """The reasons and messages of what was refused; before them stands how many other causes there were."""
    return found[1:] if found else []


def _rule(notes: Notes, type_: str, name: str, faults: dict[str, Any]) -> Any:
    """What is refused: that it is missing, other values, other numbers, texts of another form."""
    if type_ in LOOSE or f"{type_}.{name}" in COMPUTED:
        return None
    rule: Json = {}
    for reason, message in _causes(faults.get("null") or faults.get('""')):
        # What some object that was accepted did without is required in a context alone.
        absent_once = any(value == MISSING for _, _, value in notes.defaults.get(type_, {}).get(name, ()))
        if reason == "FieldValueRequired" and not absent_once:
            rule["required"] = message.removeprefix("Required value").removeprefix(": ")
    for text, found in faults.items():
        value = json.loads(text)
        for reason, message in _causes(found):
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
    low: int | None = None
    high: int | None = None
    if found := _RANGE.search(detail):
        low, high = (int(one, 8) if one.startswith("0") else int(one) for one in found.groups())
    elif "less than or equal" in detail and (last := re.search(r"\d+", detail)):
        high = int(last[0])
    elif "positive and less than" in detail and (last := re.search(r"\d+", detail)):
        low, high = 1, int(last[0])
    elif "minReplicas" in detail or "healthCheck" in detail or "may only" in detail:
        return
    elif faults.get("-1") and "0" in faults:
        low = 1 if _says(faults["0"], detail) else 0
    if (low, high) != (None, None):
        ranges = rule.setdefault("ranges", [])
        if [low, high, detail] not in ranges:
            ranges.append([low, high, detail])


def _says(found: Any, detail: str) -> bool:
    return any(detail in message for _, message in _causes(found))


def _zero(type_: str, name: str, seen: set[str]) -> Any:
    """Whether an empty value is kept; None if that is not clear."""
    return "kept" in seen if len(seen) == 1 else None


def _order(seen: set[tuple[str, ...]]) -> list[str]:
    """One order in which all that was seen stands."""
    after: dict[str, set[str]] = defaultdict(set)
    for names in seen:
        for at, name in enumerate(names):
            after[name] |= {*names[:at]}
    made: list[str] = []
    while left := [name for name in sorted(after) if name not in made]:
        made.append(next((name for name in left if after[name] <= {*made}), left[0]))
    return made


def check_types(tables: Json) -> None:
    """Every type of a table is one of the table of kinds."""
    known = table().types
    assert all(type_ in known for part in tables.values() for type_ in part)
