"""The claims of a StatefulSet's pods: created with a pod, and owned by the object that they are deleted with.

`persistentVolumeClaimRetentionPolicy` determines that object: with `whenDeleted: Delete` the set owns them,
with `whenScaled: Delete` a pod beyond the number of replicas does. The garbage collector deletes the claims.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from kubeproto.objects import copy_json

from ..._rejections import Rejection, conflict
from ...storage._json_values import member, objects_in
from ..loops._owner_loop import OwnerLoop
from ..objects._object_client import Json, message_of, reason_of
from ..objects._ownership_claims import reference_to
from ._statefulset_pods import claim_name, claim_templates, ordinal_of, ordinals

CLAIMS: Final = "persistentvolumeclaims"


class StatefulSetClaims:
    """Creates the claims of the pods of StatefulSets, and sets their owners."""

    def __init__(self, loop: OwnerLoop) -> None:
        self._loop = loop
        self._objects = loop.objects

    def create(self, owner: Json, pod: Json) -> None:
        """Create the claims that a pod lacks.

        If the server refuses, record an Event and raise `Rejection`.
        """
        last_error: Rejection | None = None
        for template in claim_templates(owner):
            key = _key(owner, template, pod)
            name = key.partition("/")[2]
            existing = self._objects.get(CLAIMS, key)
            if existing is not None:
                if "deletionTimestamp" in existing["metadata"]:
                    last_error = conflict(CLAIMS, "", name, f"pvc {name} is being deleted")
                continue
            try:
                self._objects.create(CLAIMS, _new_claim(owner, template, name), self._loop.user)
            except Rejection as rejection:
                message = f"failed to create PVC {name}: {message_of(rejection)}"
                last_error = Rejection({**rejection.status, "message": message})
                if reason_of(rejection) != "AlreadyExists":
                    self._record_create(owner, pod, name, rejection)
            else:
                self._record_create(owner, pod, name)
        if last_error is not None:
            raise last_error

    def are_stale(self, owner: Json, pod: Json) -> bool:
        """Return whether a claim still belongs to an earlier pod of the same name."""
        if _retention_policy(owner)[1] == "Retain":
            return False
        for _, claim in self._existing_claims(owner, pod):
            for reference in objects_in(claim["metadata"], "ownerReferences"):
                if _refers_to(reference, pod) and reference["uid"] != pod["metadata"].get("uid"):
                    return True
        return False

    def update_owners(self, owner: Json, pod: Json) -> bool:
        """Set the owner that each claim of a pod is deleted with; return whether any changed."""
        changed = False
        for key, claim in self._existing_claims(owner, pod):
            current = objects_in(claim["metadata"], "ownerReferences")
            expected = self._expected_owners(owner, pod, current)
            if expected != current:
                self._objects.update(CLAIMS, key, partial(_set_owners, owners=expected), self._loop.user)
                changed = True
        return changed

    def _expected_owners(self, owner: Json, pod: Json, current: list[Json]) -> list[Json]:
        uids = {"StatefulSet": owner["metadata"]["uid"], "Pod": pod["metadata"].get("uid")}
        others: list[Json] = []
        for reference in current:
            if _refers_to(reference, owner) or _refers_to(reference, pod):
                if reference["uid"] != uids[reference["kind"]]:
                    return current  # of an earlier set or pod: the garbage collector deletes the claim
            else:
                others.append(reference)
        when_deleted, when_scaled = _retention_policy(owner)
        retains = when_deleted == when_scaled == "Retain"
        if not retains and any(reference.get("controller") for reference in others):
            name = pod["metadata"]["name"]
            message = (
                f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging"
                " controller, the retention policy is ignored for this claim"
            )
            self._loop.record(owner, "ConflictingController", message, warning=True)
            return others
        is_surplus = ordinal_of(pod) not in ordinals(owner)
        if when_scaled == "Delete" and is_surplus:
            return [*others, reference_to(pod)] if uids["Pod"] else others
        return [*others, reference_to(owner)] if when_deleted == "Delete" else others

    def _existing_claims(self, owner: Json, pod: Json) -> list[tuple[str, Json]]:
        keys = [_key(owner, template, pod) for template in claim_templates(owner)]
        return [(key, claim) for key in keys if (claim := self._objects.get(CLAIMS, key)) is not None]

    def _record_create(self, owner: Json, pod: Json, name: str, rejection: Rejection | None = None) -> None:
        pod_in_set = f"Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']}"
        if rejection is None:
            self._loop.record(owner, "SuccessfulCreate", f"Create Claim {name} {pod_in_set} success")
        else:
            message = f"Create Claim {name} for {pod_in_set} failed error: {message_of(rejection)}"
            self._loop.record(owner, "FailedCreate", message, warning=True)


def _key(owner: Json, template: Json, pod: Json) -> str:
    return f"{owner['metadata']['namespace']}/{claim_name(owner, template, ordinal_of(pod))}"


def _new_claim(owner: Json, template: Json, name: str) -> Json:
    claim: Json = copy_json(template)
    claim.pop("status", None)
    meta: Json = claim["metadata"]
    labels = meta.get("labels", {}) | member(member(owner["spec"], "selector"), "matchLabels")
    meta |= {"name": name, "namespace": owner["metadata"]["namespace"]}
    if labels:
        meta["labels"] = labels
    meta.pop("creationTimestamp", None)
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}


def _retention_policy(owner: Json) -> tuple[str, str]:
    """Return the policies for claims when the set is deleted, and when it is scaled down."""
    policy = member(owner["spec"], "persistentVolumeClaimRetentionPolicy")
    return policy.get("whenDeleted", "Retain"), policy.get("whenScaled", "Retain")


def _refers_to(reference: Json, obj: Json) -> bool:
    return bool(reference["kind"] == obj["kind"] and reference["name"] == obj["metadata"]["name"])


def _set_owners(claim: Json, *, owners: list[Json]) -> None:
    if owners:
        claim["metadata"]["ownerReferences"] = owners
    else:
        claim["metadata"].pop("ownerReferences", None)
