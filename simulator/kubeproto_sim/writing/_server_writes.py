"""Writes of the server's own controllers: without rules, admission or managedFields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import objects_in, strings_in
from ..storage._storage import StoredRecord, make_record


def edit(
    state: ServerState, served: ServedKind, stored: StoredRecord, change: Callable[[dict[str, Any]], object]
) -> None:
    """Change a stored object; remove it if its deletion waits for nothing else."""
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    change(obj)
    put(state, served, stored.key, obj)
    meta = obj["metadata"]
    if meta.get("deletionTimestamp") and not meta.get("finalizers") and not meta.get(
        "deletionGracePeriodSeconds"
    ):  # fmt: skip
        if served.full_name == "namespaces" and obj.get("spec", {}).get("finalizers"):
            return
        remove(state, served, served.storage.objects[stored.key])


def put(state: ServerState, served: ServedKind, key: str, obj: dict[str, Any]) -> StoredRecord:
    """Store an object unchanged, at a new version."""
    version = state.storage.version + 1
    obj["metadata"]["resourceVersion"] = str(version)
    stored = make_record(key, obj, version, served.encode_unconverted(obj))
    state.commit(served.storage, stored)
    return stored


def remove(state: ServerState, served: ServedKind, stored: StoredRecord) -> None:
    """Delete an object, regardless of its finalizers."""
    version = state.storage.version + 1
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    obj["metadata"]["resourceVersion"] = str(version)
    state.remove(served.storage, make_record(stored.key, obj, version, served.encode_unconverted(obj)))


def remove_finalizer(obj: dict[str, Any], finalizer: str) -> None:
    """Remove a finalizer from an object that may have it."""
    meta = obj["metadata"]
    others = [name for name in strings_in(meta, "finalizers") if name != finalizer]
    if others:
        meta["finalizers"] = others
    else:
        meta.pop("finalizers", None)


def remove_owner(obj: dict[str, Any], uid: str) -> None:
    """Remove the references of an object to the owner with this uid."""
    meta = obj["metadata"]
    others = [reference for reference in objects_in(meta, "ownerReferences") if reference["uid"] != uid]
    if others:
        meta["ownerReferences"] = others
    else:
        meta.pop("ownerReferences", None)
