"""The nodes of a DaemonSet: which fit its pods, how a pod is pinned to a node, and the node of a pod."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import copy_json

from ...storage._json_values import member, objects_in
from ..objects._node_selection import NAME, selects, tolerates
from ..objects._object_client import Json

# Pods of a DaemonSet run on nodes where others do not run yet, or no longer.
_TOLERATED_NO_EXECUTE: Final = ("not-ready", "unreachable")
_TOLERATED_NO_SCHEDULE: Final = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


def with_tolerations(template: Json) -> Json:
    """Return a template with the tolerations that the pods of every DaemonSet have."""
    template = copy_json(template)
    spec = template["spec"]
    taints = [(name, "NoExecute") for name in _TOLERATED_NO_EXECUTE]
    taints += [(name, "NoSchedule") for name in _TOLERATED_NO_SCHEDULE]
    if spec.get("hostNetwork"):
        taints.append(("network-unavailable", "NoSchedule"))
    tolerations = objects_in(spec, "tolerations")
    for name, effect in taints:
        added = {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
        tolerations = [present for present in tolerations if not _is_same(present, added)] + [added]
    spec["tolerations"] = tolerations
    return template


def pin(spec: Json, node: str) -> None:
    """Restrict a pod to a node, by the affinity that a scheduler follows."""
    affinity: Json = spec.setdefault("affinity", {})
    required = affinity.setdefault("nodeAffinity", {}).setdefault(
        "requiredDuringSchedulingIgnoredDuringExecution", {}
    )
    required["nodeSelectorTerms"] = [{"matchFields": [{"key": NAME, "operator": "In", "values": [node]}]}]


def node_of(pod: Json) -> str:
    """Return the node that a pod is bound or pinned to; empty if there is none."""
    spec = pod["spec"]
    if name := spec.get("nodeName"):
        return str(name)
    required = member(
        member(member(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"
    )
    for term in objects_in(required, "nodeSelectorTerms"):
        for field in objects_in(term, "matchFields"):
            if field["key"] == NAME and field["operator"] == "In" and len(field.get("values", ())) == 1:
                return str(field["values"][0])
    return ""


def fits(template: Json, node: Json) -> tuple[bool, bool]:
    """Return whether a pod should run on a node, and whether a running pod may stay there.

    `template` has the tolerations that the pods of every DaemonSet have.
    """
    spec, name = template["spec"], node["metadata"]["name"]
    if spec.get("nodeName") not in (None, "", name) or not selects(spec, node):
        return False, False
    tolerations = objects_in(spec, "tolerations")
    effects = {
        taint["effect"]
        for taint in objects_in(member(node, "spec"), "taints")
        if not any(tolerates(toleration, taint) for toleration in tolerations)
    }
    if "NoExecute" in effects:
        return False, False
    return "NoSchedule" not in effects, True


def _is_same(toleration: Json, other: Json) -> bool:
    names = ("key", "effect", "operator", "value")
    return all(toleration.get(name) == other.get(name) for name in names)
