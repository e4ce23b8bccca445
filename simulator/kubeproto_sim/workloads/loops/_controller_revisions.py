"""ControllerRevisions: the numbered templates that a StatefulSet or DaemonSet had, for rollbacks.

A revision contains a strategic merge patch that restores its template, and is named by a hash of the patch. A
template that is restored reuses its revision, which gets the highest number.
"""

from __future__ import annotations

from typing import Final

from kubeproto.objects import copy_json

from ..._rejections import Rejection
from ...storage._json_values import member
from ..objects._object_client import Json, reason_of
from ..objects._ownership_claims import add_owner, controller_of, key_of, reference_to, selector_of
from ._control_loop import ControlLoop
from ._pod_control import template_hash

REVISIONS: Final = "controllerrevisions.apps"
HASH_LABEL: Final = "controller.kubernetes.io/hash"
POD_HASH_LABEL: Final = "controller-revision-hash"
_MAX_PREFIX: Final = 223


class RevisionHistory:
    """The revisions of the objects of a controller.

    `hash_label` names the hash in a revision: a DaemonSet uses the label of its pods.
    """

    def __init__(self, loop: ControlLoop, hash_label: str = HASH_LABEL) -> None:
        self._loop = loop
        self._objects = loop.objects
        self._hash_label = hash_label

    def list_revisions(self, owner: Json) -> list[Json]:
        """Return the revisions of an owner, the oldest first; orphans that it selects are adopted."""
        index, selector = self._loop.context.dependents[REVISIONS], selector_of(owner)
        meta = owner["metadata"]
        keys = dict.fromkeys([*index.owned(meta["uid"]), *index.orphans(meta["namespace"])])
        revisions: list[Json] = []
        for key in keys:
            revision = self._objects.get(REVISIONS, key)
            if revision is None or not selector.matches(revision["metadata"].get("labels")):
                continue
            if controller_of(revision) is None and "deletionTimestamp" not in meta:
                user = self._loop.user
                revision = self._objects.update(REVISIONS, key, lambda obj: add_owner(obj, owner), user)
            revisions.append(revision)
        return sorted(revisions, key=_revision_order)

    def ensure_current(self, owner: Json, revisions: list[Json], collisions: int | None) -> tuple[Json, int]:
        """Return the revision of the present template, created if necessary, and the collision count."""
        patch, newest = _patch_for(owner), revisions[-1] if revisions else None
        equal = [revision for revision in revisions if revision["data"] == patch]
        if equal and newest is not None and newest["data"] == patch:
            return newest, collisions or 0
        number = newest["revision"] + 1 if newest is not None else 1
        if equal:
            key = key_of(equal[-1])
            changes = {"revision": number}
            renumbered = self._objects.update(
                REVISIONS, key, lambda obj: obj.update(changes), self._loop.user
            )
            return renumbered, collisions or 0
        return self._create(owner, patch, number, collisions or 0)

    def delete(self, revision: Json) -> None:
        """Delete a revision."""
        self._objects.delete(REVISIONS, key_of(revision), self._loop.user)

    def _create(self, owner: Json, patch: Json, number: int, collisions: int) -> tuple[Json, int]:
        meta = owner["metadata"]
        labels = member(member(owner["spec"]["template"], "metadata"), "labels")
        labels = labels | {self._hash_label: template_hash(patch, collisions)}
        while True:
            name = f"{meta['name'][:_MAX_PREFIX]}-{template_hash(patch, collisions)}"
            revision: Json = {
                "apiVersion": "apps/v1", "kind": "ControllerRevision",
                "metadata": {
                    "name": name, "namespace": meta["namespace"], "labels": labels,
                    "ownerReferences": [reference_to(owner)],
                },
                "data": patch, "revision": number,
            }  # fmt: skip
            if annotations := meta.get("annotations"):
                revision["metadata"]["annotations"] = annotations
            try:
                return self._objects.create(REVISIONS, revision, self._loop.user), collisions
            except Rejection as rejection:
                if reason_of(rejection) != "AlreadyExists":
                    raise
            existing = self._objects.get(REVISIONS, f"{meta['namespace']}/{name}")
            if existing is not None and existing["data"] == patch:
                return existing, collisions
            collisions += 1


def template_of(revision: Json) -> Json:
    """Return the template that a revision restores."""
    template: Json = copy_json(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return template


def _patch_for(owner: Json) -> Json:
    template: Json = copy_json(owner["spec"]["template"])
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def _revision_order(revision: Json) -> tuple[int, str, str]:
    meta = revision["metadata"]
    return revision["revision"], meta["creationTimestamp"], meta["name"]
