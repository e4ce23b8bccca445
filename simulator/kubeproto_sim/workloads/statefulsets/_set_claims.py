"""The claims of a StatefulSet's pods: created with the pod, owned by what they are deleted with.

`persistentVolumeClaimRetentionPolicy` determines that object: with `whenDeleted: Delete` the set owns them,
with `whenScaled: Delete` a pod beyond the number of replicas does; the garbage collector does the rest.
"""

from __future__ import annotations

from functools import partial
from typing import Final, Protocol

from ..._rejections import Rejection, conflict
from ...storage._json_values import copied, listed, member
from ..facts._objects import Json, Objects, message_of, reason_of
from ..facts._ownership import reference_to
from ._set_pods import claim_name, claim_templates, ordinal_of, ordinals
from ._set_record import SetRecorder

CLAIMS: Final = "persistentvolumeclaims"


class ClaimOwner(Protocol):
    """What claims need from the controller of StatefulSets."""

    objects: Objects
    record: SetRecorder

    @property
    def user(self) -> str:
        """The service account that it acts as."""
        ...


class Claims:
    """Creates the claims of the pods of StatefulSets, and sets their owners."""

    def __init__(self, loop: ClaimOwner) -> None:
        self._loop = loop
        self._objects = loop.objects

    def create(self, owner: Json, pod: Json) -> None:
        """Create the claims that a pod lacks; or `Rejection`, with an Event about it."""
        failed: Rejection | None = None
        for template in claim_templates(owner):
            key = self._key(owner, template, pod)
            name = key.partition("/")[2]
            found = self._objects.get(CLAIMS, key)
            if found is not None:
                if "deletionTimestamp" in found["metadata"]:
                    failed = conflict(CLAIMS, "", name, f"pvc {name} is being deleted")
                continue
            try:
                self._objects.create(CLAIMS, self._new(owner, template, name), self._loop.user)
            except Rejection as refused:
                said = f"failed to create PVC {name}: {message_of(refused)}"
                failed = Rejection({**refused.status, "message": said})
                if reason_of(refused) != "AlreadyExists":
                    self._loop.record.claim(owner, pod, name, refused)
            else:
                self._loop.record.claim(owner, pod, name)
        if failed is not None:
            raise failed

    def are_stale(self, owner: Json, pod: Json) -> bool:
        """Whether a claim still belongs to a pod of the same name that is gone."""
        if _policy(owner)[1] == "Retain":
            return False
        for _, claim in self._of(owner, pod):
            for one in listed(claim["metadata"], "ownerReferences"):
                if _is_about(one, pod) and one["uid"] != pod["metadata"].get("uid"):
                    return True
        return False

    def hand_over(self, owner: Json, pod: Json) -> bool:
        """Set the owner that each claim of a pod is deleted with; return whether any changed."""
        changed = False
        for key, claim in self._of(owner, pod):
            before = listed(claim["metadata"], "ownerReferences")
            wanted = self._owners(owner, pod, before)
            if wanted != before:
                self._objects.update(CLAIMS, key, partial(_own, owners=wanted), self._loop.user)
                changed = True
        return changed

    def _owners(self, owner: Json, pod: Json, before: list[Json]) -> list[Json]:
        uids = {"StatefulSet": owner["metadata"]["uid"], "Pod": pod["metadata"].get("uid")}
        others: list[Json] = []
        for one in before:
            if _is_about(one, owner) or _is_about(one, pod):
                if one["uid"] != uids[one["kind"]]:
                    return before  # owned by an earlier set or pod: the garbage collector deletes it
            else:
                others.append(one)
        when_deleted, when_scaled = _policy(owner)
        retains = when_deleted == when_scaled == "Retain"
        if not retains and any(one.get("controller") for one in others):
            name = pod["metadata"]["name"]
            said = (
                f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging"
                " controller, the retention policy is ignored for this claim"
            )
            self._loop.record.record(owner, "ConflictingController", said, warning=True)
            return others
        leaving = ordinal_of(pod) not in ordinals(owner)
        if when_scaled == "Delete" and leaving:
            return [*others, reference_to(pod)] if uids["Pod"] else others
        return [*others, reference_to(owner)] if when_deleted == "Delete" else others

    def _of(self, owner: Json, pod: Json) -> list[tuple[str, Json]]:
        keys = [self._key(owner, template, pod) for template in claim_templates(owner)]
        return [(key, found) for key in keys if (found := self._objects.get(CLAIMS, key)) is not None]

    def _key(self, owner: Json, template: Json, pod: Json) -> str:
        return f"{owner['metadata']['namespace']}/{claim_name(owner, template, ordinal_of(pod))}"

    def _new(self, owner: Json, template: Json, name: str) -> Json:
        claim: Json = copied(template)
        claim.pop("status", None)
        meta: Json = claim["metadata"]
        labels = meta.get("labels", {}) | member(member(owner["spec"], "selector"), "matchLabels")
        meta |= {"name": name, "namespace": owner["metadata"]["namespace"]}
        if labels:
            meta["labels"] = labels
        meta.pop("creationTimestamp", None)
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}


def _policy(owner: Json) -> tuple[str, str]:
    """Return what happens to claims when the set is deleted, and when it is scaled down."""
    policy = member(owner["spec"], "persistentVolumeClaimRetentionPolicy")
    return policy.get("whenDeleted", "Retain"), policy.get("whenScaled", "Retain")


def _is_about(reference: Json, obj: Json) -> bool:
    return bool(reference["kind"] == obj["kind"] and reference["name"] == obj["metadata"]["name"])


def _own(claim: Json, *, owners: list[Json]) -> None:
    if owners:
        claim["metadata"]["ownerReferences"] = owners
    else:
        claim["metadata"].pop("ownerReferences", None)
