"""Fields of built-in kinds that stay as they were when the object was created."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.objects import json_equal

from ..kinds._kinds import Served
from ..storage._json_values import member
from . import _job_rules

_SELECTED: Final = ("deployments.apps", "replicasets.apps", "daemonsets.apps")
_BOUND: Final = ("rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io")
_STATEFUL: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def check_fixed(served: Served, before: dict[str, Any], obj: dict[str, Any]) -> list[Violation]:
    """Return the immutable fields that an update changes."""
    old, new = member(before, "spec"), member(obj, "spec")
    match served.full_name:
        case name if name in _SELECTED:
            if not json_equal(old.get("selector"), new.get("selector")):
                shown = new.get("selector")
                return [Violation("FieldValueInvalid", "spec.selector", shown, "field is immutable")]
        case name if name in _BOUND:
            if not json_equal(before.get("roleRef"), obj.get("roleRef")):
                text = "cannot change roleRef"
                return [Violation("FieldValueInvalid", "roleRef", obj.get("roleRef"), text)]
        case "statefulsets.apps":
            if not json_equal(_without(old), _without(new)):
                text = "updates to statefulset spec for fields other than"
                named = ", ".join(f"'{one}'" for one in _STATEFUL)
                return [Violation("FieldValueForbidden", "spec", detail=f"{text} {named} are forbidden")]
        case "jobs.batch":
            return list(_job_rules.fixed(before, obj))
        case _:
            pass
    return []


def _without(spec: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in _STATEFUL}
