"""Who owns what: a controller adopts what it selects and nobody owns, and releases the rest."""

from __future__ import annotations

from typing import Any

from kubeproto.objects import Selector

from ..._rejections import Rejection
from ...storage._json_values import listed
from ._objects import Json, Objects


def controller_of(obj: Json) -> Json | None:
    """Return the reference to the owner that controls an object; None if there is none."""
    for reference in listed(obj["metadata"], "ownerReferences"):
        if reference.get("controller"):
            return reference
    return None


def is_controlled_by(obj: Json, owner: Json) -> bool:
    """Whether an owner controls an object."""
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == owner["metadata"]["uid"]


def reference_to(owner: Json) -> Json:
    """Return the reference by which an owner controls the objects that it creates."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


def selector_of(owner: Json) -> Selector:
    """Return what an owner selects; the selector of a ReplicationController is a map of labels."""
    found: dict[str, Any] = owner.get("spec", {}).get("selector") or {}
    if owner["kind"] in ("ReplicationController", "Service"):
        return Selector.of(found)
    return Selector.from_object(found)


def claim(
    objects: Objects, resource: str, owner: Json, candidates: list[Json], user: str, finalizer: str = ""
) -> list[Json]:
    """Return those of the candidates that an owner controls from now on.

    An object that it controls and no longer selects is released; an orphan that it selects is adopted, unless
    either is being deleted.
    """
    selector, going = selector_of(owner), "deletionTimestamp" in owner["metadata"]
    claimed: list[Json] = []
    for one in candidates:
        meta = one["metadata"]
        selected = selector.matches(meta.get("labels"))
        reference = controller_of(one)
        if reference is not None:
            if reference["uid"] != owner["metadata"]["uid"]:
                continue
            if selected:
                claimed.append(one)
            elif not going:
                _release(objects, resource, owner, one, user)
        elif selected and bool(selector) and not going and "deletionTimestamp" not in meta:
            adopted = _adopt(objects, resource, owner, one, user, finalizer)
            if adopted is not None:
                claimed.append(adopted)
    return claimed


def key_of(obj: Json) -> str:
    """Return the key of a namespaced object."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _adopt(objects: Objects, resource: str, owner: Json, one: Json, user: str, finalizer: str) -> Json | None:
    def change(obj: Json) -> None:
        obj["metadata"].setdefault("ownerReferences", []).append(reference_to(owner))
        if finalizer:
            obj["metadata"].setdefault("finalizers", []).append(finalizer)

    try:
        return objects.update(resource, key_of(one), change, user)
    except Rejection:
        return None


def _release(objects: Objects, resource: str, owner: Json, one: Json, user: str) -> None:
    def change(obj: Json) -> None:
        meta = obj["metadata"]
        left = [it for it in meta["ownerReferences"] if it["uid"] != owner["metadata"]["uid"]]
        if left:
            meta["ownerReferences"] = left
        else:
            del meta["ownerReferences"]

    objects.update(resource, key_of(one), change, user)
