"""Owner references: an owner adopts the orphans that it selects, and releases all other objects."""

from __future__ import annotations

from typing import Any

from kubeproto.objects import Selector

from ..._rejections import Rejection
from ...storage._json_values import objects_in
from ...writing._server_writes import remove_owner
from ._object_client import Json, ObjectClient


def controller_of(obj: Json) -> Json | None:
    """Return the reference to the owner that controls an object; None if there is none."""
    for reference in objects_in(obj["metadata"], "ownerReferences"):
        if reference.get("controller"):
            return reference
    return None


def is_controlled_by(obj: Json, owner: Json) -> bool:
    """Return whether an owner controls an object."""
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == owner["metadata"]["uid"]


def reference_to(owner: Json) -> Json:
    """Return the reference by which an owner controls the objects that it creates."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


def add_owner(obj: Json, owner: Json) -> None:
    """Add a controlling reference to an object."""
    obj["metadata"].setdefault("ownerReferences", []).append(reference_to(owner))


def selector_of(owner: Json) -> Selector:
    """Return the selector of an owner; that of a ReplicationController or Service is a map of labels."""
    selector: dict[str, Any] = owner.get("spec", {}).get("selector") or {}
    if owner["kind"] in ("ReplicationController", "Service"):
        return Selector.of(selector)
    return Selector.from_object(selector)


def key_of(obj: Json) -> str:
    """Return the key of a namespaced object."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def claim(
    objects: ObjectClient, resource: str, owner: Json, candidates: list[Json], user: str, finalizer: str = ""
) -> list[Json]:
    """Adopt and release objects; return those of the candidates that the owner controls afterwards.

    An object that is controlled and not selected is released; an orphan that is selected is adopted, unless
    the orphan or the owner is being deleted.
    """
    selector, owner_terminating = selector_of(owner), "deletionTimestamp" in owner["metadata"]
    claimed: list[Json] = []
    for candidate in candidates:
        meta = candidate["metadata"]
        selected = selector.matches(meta.get("labels"))
        reference = controller_of(candidate)
        if reference is not None:
            if reference["uid"] != owner["metadata"]["uid"]:
                continue
            if selected:
                claimed.append(candidate)
            elif not owner_terminating:
                _release(objects, resource, owner, candidate, user)
        elif selected and bool(selector) and not owner_terminating and "deletionTimestamp" not in meta:
            adopted = _adopt(objects, resource, owner, candidate, user, finalizer)
            if adopted is not None:
                claimed.append(adopted)
    return claimed


def _adopt(
    objects: ObjectClient, resource: str, owner: Json, orphan: Json, user: str, finalizer: str
) -> Json | None:
    def change(obj: Json) -> None:
        add_owner(obj, owner)
        if finalizer:
            obj["metadata"].setdefault("finalizers", []).append(finalizer)

    try:
        return objects.update(resource, key_of(orphan), change, user)
    except Rejection:
        return None


def _release(objects: ObjectClient, resource: str, owner: Json, dependent: Json, user: str) -> None:
    uid = owner["metadata"]["uid"]
    objects.update(resource, key_of(dependent), lambda obj: remove_owner(obj, uid), user)
