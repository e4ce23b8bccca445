"""What a write may not change: the server restores it, and counts what did change."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.objects import json_equal

from ..kinds._defaults import TEMPLATE_GENERATION, fill_in
from ..kinds._kinds import Served
from ..storage._json_values import listed, member, texts
from ._allocation import allocate, keep_allocated
from ._pod_parts import POD_PARTS, with_part
from ._schema_shapes import DEFINITIONS

_SERVERS: Final = (
    "uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip
# What a write of the status leaves unchanged, besides the spec (tried on a 1.36 server, kind by kind).
_NOT_WITH_STATUS: Final = {"deployments.apps": ("labels",), "pods": ("ownerReferences",)}
# The spec of a custom resource is every field that is not one of these.
_NOT_COUNTED: Final = ("metadata", "apiVersion")


def kept(served: Served, subresource: str, before: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    """Return the new state of an object, with what this subresource may not change restored."""
    old, meta = before["metadata"], obj["metadata"]
    if subresource == "status":
        return _with_status(served, before, obj)
    if subresource in POD_PARTS:
        obj = with_part(subresource, before, obj)
        meta = obj["metadata"]
    keep_allocated(served, before, obj)
    fill_in(served, obj)
    allocate(served, obj)
    if served.has_status:
        obj.pop("status", None)
        if "status" in before:
            obj["status"] = before["status"]
    if served.full_name == "daemonsets.apps":
        _count_template(before, obj)
    if served.full_name == DEFINITIONS:
        _note_storage_version(obj)
    if served.full_name == "namespaces" and subresource != "finalize":
        obj["spec"] = before.get("spec", {})
    for field in _SERVERS:
        if field in old:
            meta[field] = old[field]
        else:
            meta.pop(field, None)
    return obj


def _note_storage_version(obj: dict[str, Any]) -> None:
    """Record the version in which objects are stored from now on; others may still be in the storage."""
    status: dict[str, Any] = dict(member(obj, "status"))
    stored = texts(status, "storedVersions")
    new = [one["name"] for one in listed(obj["spec"], "versions") if one.get("storage")]
    status["storedVersions"] = [*stored, *(name for name in new if name not in stored)]
    obj["status"] = status


def _count_template(before: dict[str, Any], obj: dict[str, Any]) -> None:
    """Number the template of a DaemonSet, in the annotation that was a field before apps/v1."""
    known = before["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0")
    number = int(known) if known.isdecimal() else 0
    if before["spec"].get("template") != obj["spec"].get("template"):
        number += 1
    obj["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(number)


def _with_status(served: Served, before: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    """Return the old state with another status. A built-in kind also takes labels, finalizers and the like.

    Its controllers rely on that: the revision of a Deployment is an annotation that comes with a status.
    """
    old = before["metadata"]
    merged = dict(before)
    merged["metadata"] = dict(old)
    if not served.custom:
        merged["metadata"] = obj["metadata"] | {field: old[field] for field in _SERVERS if field in old}
        for field in _NOT_WITH_STATUS.get(served.full_name, ()):
            merged["metadata"].pop(field, None)
            if field in old:
                merged["metadata"][field] = old[field]
    merged.pop("status", None)
    if "status" in obj:
        merged["status"] = obj["status"]
    return merged


def count_generation(served: Served, before: dict[str, Any], obj: dict[str, Any]) -> None:
    """Count a change of what the generation covers."""
    if served.custom:
        skipped = (*_NOT_COUNTED, "status") if served.has_status else _NOT_COUNTED
        changed = not json_equal(
            {name: value for name, value in before.items() if name not in skipped},
            {name: value for name, value in obj.items() if name not in skipped},
        )
    else:
        changed = not json_equal(
            {name: value for name, value in before.items() if name not in ("metadata", "status")},
            {name: value for name, value in obj.items() if name not in ("metadata", "status")},
        )
        if served.full_name == "deployments.apps":
            # What kubectl notes on a Deployment counts: its controller copies it to the ReplicaSets.
            changed |= before["metadata"].get("annotations") != obj["metadata"].get("annotations")
    if changed:
        obj["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
