"""Node selectors, node affinity and tolerations, as DaemonSets and the scheduler apply them."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import Selector

from ...storage._json_values import member, objects_in
from ._object_client import Json

NAME: Final = "metadata.name"  # the only field of a node that an affinity can select


def selects(spec: Json, node: Json) -> bool:
    """Return whether the node selector and the required node affinity of a pod match a node."""
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    if not Selector.of(member(spec, "nodeSelector")).matches(labels):
        return False
    affinity = member(member(spec, "affinity"), "nodeAffinity")
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    fields = {NAME: node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and _matches(objects_in(term, "matchExpressions"), labels)
        and _matches(objects_in(term, "matchFields"), fields)
        for term in objects_in(required, "nodeSelectorTerms")
    )


def _matches(expressions: list[Json], labels: dict[str, str]) -> bool:
    return all(_is_satisfied(expression, labels.get(expression["key"])) for expression in expressions)


def _is_satisfied(expression: Json, value: str | None) -> bool:
    values: list[str] = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            try:
                number, bound = int(value or ""), int(values[0])
            except (ValueError, IndexError):
                return False
            return number > bound if operator == "Gt" else number < bound


def tolerates(toleration: Json, taint: Json) -> bool:
    """Return whether a toleration matches a taint."""
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key = toleration.get("key", "")
    if key and key != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    same_value = toleration.get("value", "") == taint.get("value", "")
    return bool(key) and operator == "Equal" and same_value
