"""Special writes of pods: the subresources `resize` and `ephemeralcontainers`, and topology labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubeproto.crd import Violation
from kubeproto.objects import copy_json

from .._state import ServerState
from ..storage._json_values import member, objects_in

Json = dict[str, Any]
POD_PARTS: Final = ("ephemeralcontainers", "resize")
_RESIZED_FIELDS: Final = ("resources", "resizePolicy")


def with_part(subresource: str, previous: Json, obj: Json) -> Json:
    """Return the previous pod with the part that this subresource may change."""
    changed: Json = copy_json(previous)
    changed["metadata"]["resourceVersion"] = obj["metadata"].get("resourceVersion", "")
    if "managedFields" in obj["metadata"]:
        changed["metadata"]["managedFields"] = obj["metadata"]["managedFields"]
    spec = member(obj, "spec")
    if subresource == "ephemeralcontainers":
        changed["spec"]["ephemeralContainers"] = objects_in(spec, "ephemeralContainers")
        return changed
    for field in ("containers", "initContainers"):
        containers_by_name = {
            changed_container.get("name"): changed_container for changed_container in objects_in(spec, field)
        }
        for container in objects_in(changed["spec"], field):
            _copy_resized(container, containers_by_name.get(container["name"]))
    return changed


def _copy_resized(container: Json, changed: Json | None) -> None:
    for name in _RESIZED_FIELDS:
        if changed is not None and name in changed:
            container[name] = changed[name]
        elif changed is not None:
            container.pop(name, None)


def check_part(subresource: str, obj: Json, old: Json) -> Iterator[Violation]:
    """Check that existing ephemeral containers do not change."""
    if subresource != "ephemeralcontainers":
        return
    new = {container["name"]: container for container in objects_in(obj["spec"], "ephemeralContainers")}
    for index, container in enumerate(objects_in(old["spec"], "ephemeralContainers")):
        name = container["name"]
        if name not in new:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            yield Violation("FieldValueForbidden", "spec.ephemeralContainers", detail=text)
        elif new[name] != container:
            text = f'existing ephemeral containers "{name}" may not be changed\n'
            yield Violation("FieldValueForbidden", f"spec.ephemeralContainers[{index}]", detail=text)


_TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def copy_topology(state: ServerState, pod: dict[str, Any], node: str) -> None:
    """Set the zone and region labels of a pod to those of its node, as servers do since Kubernetes 1.35."""
    if not state.release.topology_labels:
        return
    stored = state.storage.resource("nodes").objects.get(node)
    if stored is None:
        return
    labels = member(msgspec.json.decode(stored.data)["metadata"], "labels")
    if node_labels := {name: labels[name] for name in _TOPOLOGY_LABELS if name in labels}:
        meta: dict[str, Any] = pod["metadata"]
        meta["labels"] = {**member(meta, "labels"), **node_labels}
