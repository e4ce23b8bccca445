"""The revisions of a Deployment: a ReplicaSet for each template, numbered by annotations."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import copy_json

from ...storage._json_values import member
from ..loops._pod_control import template_hash
from ..objects._object_client import Json
from ..objects._ownership_claims import reference_to
from ..objects._status_conditions import age_order

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK: Final = "deprecated.deployment.rollback.to"
# Annotations that a Deployment and its ReplicaSets do not copy from each other.
_UNSHARED: Final = frozenset((
    "kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED_REPLICAS,
    MAX_REPLICAS, ROLLBACK,
))  # fmt: skip
_MAX_HISTORY: Final = 2000
_MAX_NAME: Final = 253


def annotations_of(obj: Json) -> dict[str, str]:
    """Return the annotations of an object."""
    annotations: dict[str, str] = member(obj["metadata"], "annotations")
    return annotations


def revision_of(obj: Json) -> int:
    """Return the revision in the annotations of an object; 0 if there is none, or no number."""
    text = annotations_of(obj).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def last_revision(replicasets: list[Json]) -> int:
    """Return the second newest revision; 0 if there is none."""
    revisions = sorted(map(revision_of, replicasets), reverse=True)
    return revisions[1] if len(revisions) > 1 else 0


def template_without_hash(obj: Json) -> Json:
    """Return the template of a Deployment or ReplicaSet without the label of its hash."""
    template: Json = copy_json(obj["spec"]["template"])
    meta = template.get("metadata")
    if meta and "labels" in meta:
        meta["labels"].pop(HASH_LABEL, None)
        if not meta["labels"]:
            del meta["labels"]
    if not meta:
        template.pop("metadata", None)
    return template


def find_new(deployment: Json, replicasets: list[Json]) -> Json | None:
    """Return the ReplicaSet with the template of the Deployment: the oldest, if there are several."""
    template = template_without_hash(deployment)
    for replicaset in sorted(replicasets, key=age_order):
        if template_without_hash(replicaset) == template:
            return replicaset
    return None


def new_replicaset(deployment: Json) -> Json:
    """Return the ReplicaSet for the template of a Deployment, without replicas."""
    spec, meta = deployment["spec"], deployment["metadata"]
    template = template_without_hash(deployment)
    hash_ = template_hash(template, member(deployment, "status").get("collisionCount"))
    labels = member(member(template, "metadata"), "labels") | {HASH_LABEL: hash_}
    template["metadata"] = member(template, "metadata") | {"labels": labels}
    selector: Json = copy_json(spec["selector"])
    selector["matchLabels"] = member(selector, "matchLabels") | {HASH_LABEL: hash_}
    name = f"{meta['name'][: _MAX_NAME - len(hash_) - 1]}-{hash_}"
    return {
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": meta["namespace"], "labels": labels,
            "ownerReferences": [reference_to(deployment)],
        },
        "spec": {
            "replicas": 0, "minReadySeconds": spec.get("minReadySeconds", 0), "selector": selector,
            "template": template,
        },
    }  # fmt: skip


def annotate(deployment: Json, replicaset: Json, revision: int) -> bool:
    """Copy the annotations of a Deployment to its new ReplicaSet; return whether any changed."""
    meta = replicaset["metadata"]
    annotations: dict[str, str] = meta.get("annotations") or {}
    previous = dict(annotations)
    annotations |= {
        name: value for name, value in annotations_of(deployment).items() if name not in _UNSHARED
    }
    old = annotations.get(REVISION)
    if old is not None and old != "" and not old.isdecimal():
        pass  # another client wrote a text that is not a number: it stays, as in a real cluster
    elif int(old or 0) < revision:
        annotations[REVISION] = str(revision)
        if old is not None:
            _append_to_history(annotations, old)
    if annotations:
        meta["annotations"] = annotations
    return annotations != previous


def annotate_size(replicaset: Json, desired: int, maximum: int) -> bool:
    """Annotate a ReplicaSet with the replicas of its Deployment; return whether they have changed."""
    annotations: dict[str, str] = replicaset["metadata"].setdefault("annotations", {})
    sizes = {DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(maximum)}
    if all(annotations.get(name) == value for name, value in sizes.items()):
        return False
    annotations |= sizes
    return True


def annotated_size(replicaset: Json, name: str) -> int | None:
    """Return the size in an annotation of a ReplicaSet; None if it is missing or not a number."""
    text = annotations_of(replicaset).get(name, "")
    return int(text) if text.isdecimal() else None


def roll_back(deployment: Json, replicaset: Json) -> None:
    """Give a Deployment the template and the annotations of a ReplicaSet."""
    deployment["spec"]["template"] = template_without_hash(replicaset)
    annotations = {name: value for name, value in annotations_of(deployment).items() if name in _UNSHARED}
    annotations |= {
        name: value for name, value in annotations_of(replicaset).items() if name not in _UNSHARED
    }
    deployment["metadata"]["annotations"] = annotations


def _append_to_history(annotations: dict[str, str], revision: str) -> None:
    """Add an earlier revision of a ReplicaSet to its history, and drop the oldest if it is too long."""
    history = [number for number in annotations.get(REVISION_HISTORY, "").split(",") if number]
    history.append(revision)
    while history and len(",".join(history)) > _MAX_HISTORY:
        history.pop(0)
    annotations[REVISION_HISTORY] = ",".join(history)
