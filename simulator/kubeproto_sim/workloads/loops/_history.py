"""ControllerRevisions: the numbered templates that a StatefulSet or DaemonSet had, for rollbacks.

A revision holds a strategic merge patch that restores its template, and is named by a hash of it. A template
that is restored keeps its revision, which gets the highest number.
"""

from __future__ import annotations

from typing import Final

from ..._rejections import Rejection
from ...storage._json_values import copied, member
from ..facts._objects import Json, reason_of
from ..facts._ownership import controller_of, key_of, reference_to, selector_of
from ..facts._revisions import hash_of
from ._loop import ControlLoop

REVISIONS: Final = "controllerrevisions.apps"
HASH: Final = "controller.kubernetes.io/hash"
POD_HASH: Final = "controller-revision-hash"
_LONGEST_PREFIX: Final = 223


class History:
    """The revisions of the objects of one controller."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop
        self._objects = loop.objects

    def of(self, owner: Json) -> list[Json]:
        """Return the revisions of an owner, the oldest first; orphans that it selects are adopted."""
        index, selector = self._loop.shared.owners[REVISIONS], selector_of(owner)
        meta = owner["metadata"]
        keys = dict.fromkeys([*index.owned(meta["uid"]), *index.orphans(meta["namespace"])])
        found: list[Json] = []
        for key in keys:
            one = self._objects.get(REVISIONS, key)
            if one is None or not selector.matches(one["metadata"].get("labels")):
                continue
            if controller_of(one) is None and "deletionTimestamp" not in meta:
                one = self._adopt(one, owner)
            found.append(one)
        return sorted(found, key=_age)

    def update(
        self, owner: Json, known: list[Json], collisions: int | None, *, of_daemons: bool = False
    ) -> tuple[Json, int]:
        """Return the revision of the present template, and how often its name was taken.

        `of_daemons` names the hash as a DaemonSet does: by the label of its pods.
        """
        wanted, newest = patch_of(owner), known[-1] if known else None
        equal = [one for one in known if one["data"] == wanted]
        if equal and newest is not None and newest["data"] == wanted:
            return newest, collisions or 0
        number = newest["revision"] + 1 if newest is not None else 1
        if equal:
            key = key_of(equal[-1])
            change = {"revision": number}
            found = self._objects.update(REVISIONS, key, lambda one: one.update(change), self._loop.user)
            return found, collisions or 0
        return self._create(owner, wanted, number, collisions, POD_HASH if of_daemons else HASH)

    def delete(self, revision: Json) -> None:
        """Delete a revision."""
        self._objects.delete(REVISIONS, key_of(revision), self._loop.user)

    def _create(
        self, owner: Json, data: Json, number: int, taken: int | None, label: str
    ) -> tuple[Json, int]:
        meta, collisions = owner["metadata"], taken or 0
        first = hash_of(data, collisions)
        labels = member(member(owner["spec"]["template"], "metadata"), "labels") | {label: first}
        while True:
            name = f"{meta['name'][:_LONGEST_PREFIX]}-{hash_of(data, collisions)}"
            made: Json = {
                "apiVersion": "apps/v1", "kind": "ControllerRevision",
                "metadata": {
                    "name": name, "namespace": meta["namespace"], "labels": labels,
                    "ownerReferences": [reference_to(owner)],
                },
                "data": data, "revision": number,
            }  # fmt: skip
            if annotations := meta.get("annotations"):
                made["metadata"]["annotations"] = annotations
            try:
                return self._objects.create(REVISIONS, made, self._loop.user), collisions
            except Rejection as refused:
                if reason_of(refused) != "AlreadyExists":
                    raise
            found = self._objects.get(REVISIONS, f"{meta['namespace']}/{name}")
            if found is not None and found["data"] == data:
                return found, collisions
            collisions += 1

    def _adopt(self, one: Json, owner: Json) -> Json:
        reference = reference_to(owner)

        def change(obj: Json) -> None:
            obj["metadata"].setdefault("ownerReferences", []).append(reference)

        return self._objects.update(REVISIONS, key_of(one), change, self._loop.user)


def patch_of(owner: Json) -> Json:
    """Return the patch that restores the template of an owner."""
    template: Json = copied(owner["spec"]["template"])
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: Json) -> Json:
    """Return the template that a revision holds."""
    template: Json = copied(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return template


def _age(one: Json) -> tuple[int, str, str]:
    return one["revision"], one["metadata"]["creationTimestamp"], one["metadata"]["name"]
