"""Whether a pod of a DaemonSet belongs on a node: by name, by labels and fields, and by what it tolerates."""

from __future__ import annotations

from typing import Final

from ...storage._json_values import copied, listed, member
from ..facts._node_selection import NAME, selects, tolerates
from ..facts._objects import Json

# The tolerations of pods of a DaemonSet, which run on nodes where others do not yet or no longer run.
_EXECUTE: Final = ("not-ready", "unreachable")
_SCHEDULE: Final = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


def with_tolerations(template: Json) -> Json:
    """Return a template with the tolerations that every DaemonSet has."""
    found: Json = copied(template)
    spec = found["spec"]
    names = [(name, "NoExecute") for name in _EXECUTE] + [(name, "NoSchedule") for name in _SCHEDULE]
    if spec.get("hostNetwork"):
        names.append(("network-unavailable", "NoSchedule"))
    tolerations = listed(spec, "tolerations")
    for name, effect in names:
        wanted = {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
        tolerations = [one for one in tolerations if not _same(one, wanted)] + [wanted]
    spec["tolerations"] = tolerations
    return found


def pin(spec: Json, node: str) -> None:
    """Restrict a pod to one node, by the affinity that a scheduler follows."""
    affinity: Json = spec.setdefault("affinity", {})
    required = affinity.setdefault("nodeAffinity", {}).setdefault(
        "requiredDuringSchedulingIgnoredDuringExecution", {}
    )
    required["nodeSelectorTerms"] = [{"matchFields": [{"key": NAME, "operator": "In", "values": [node]}]}]


def target_of(pod: Json) -> str:
    """Return the node of a pod: the one it is on, or the one it is pinned to; empty if there is none."""
    spec = pod["spec"]
    if name := spec.get("nodeName"):
        return str(name)
    required = member(
        member(member(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"
    )
    for term in listed(required, "nodeSelectorTerms"):
        for one in listed(term, "matchFields"):
            if one["key"] == NAME and one["operator"] == "In" and len(one.get("values", ())) == 1:
                return str(one["values"][0])
    return ""


def fits(template: Json, node: Json) -> tuple[bool, bool]:
    """Return whether a pod is to be started on a node, and whether one that is there may stay.

    `template` has the tolerations that every DaemonSet has.
    """
    spec, name = template["spec"], node["metadata"]["name"]
    if spec.get("nodeName") not in (None, "", name) or not selects(spec, node):
        return False, False
    tolerations = listed(spec, "tolerations")
    taints = listed(member(node, "spec"), "taints")
    untolerated = [one for one in taints if not any(tolerates(it, one) for it in tolerations)]
    if any(one["effect"] in ("NoExecute", "NoSchedule") for one in untolerated):
        return False, not any(one["effect"] == "NoExecute" for one in untolerated)
    return True, True


def _same(one: Json, other: Json) -> bool:
    return all(one.get(name) == other.get(name) for name in ("key", "effect", "operator", "value"))
