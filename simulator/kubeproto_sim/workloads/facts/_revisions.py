"""The revisions of a Deployment: a hash for each template, and annotations that number and remember them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...storage._json_values import copied, member
from ._objects import Json
from ._ownership import reference_to
from ._pods import created

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK: Final = "deprecated.deployment.rollback.to"
# What a Deployment and its ReplicaSets do not copy from each other.
_OWN: Final = frozenset(
    ("kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAXIMUM, ROLLBACK)
)
_LONGEST_HISTORY: Final = 2000
_LONGEST_NAME: Final = 253
# No vowels, and no digits that look like one, as in generated names.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_PRIME, _OFFSET, _MASK = 16777619, 2166136261, 0xFFFFFFFF
_sorted_json: Final = msgspec.json.Encoder(order="sorted").encode


def hash_of(value: Any, collisions: int | None = None) -> str:
    """Return a short name for a value: FNV-1a of its JSON, spelled as Kubernetes spells hashes.

    Go hashes a printed form of its own types, so the names differ from those of a real cluster.
    """
    found = _OFFSET
    text = _sorted_json(value) + (b"" if collisions is None else collisions.to_bytes(8, "little"))
    for byte in text:
        found = ((found ^ byte) * _PRIME) & _MASK
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(found))


def annotations_of(obj: Json) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = member(obj["metadata"], "annotations")
    return found


def revision_of(obj: Json) -> int:
    """Return the revision that an object carries; 0 if it carries none that can be read."""
    text = annotations_of(obj).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def without_hash(template: Json) -> Json:
    """Return a template as a Deployment has it."""
    found: Json = copied(template)
    meta = found.get("metadata")
    if meta and "labels" in meta:
        meta["labels"].pop(HASH_LABEL, None)
        if not meta["labels"]:
            del meta["labels"]
    if not meta:
        found.pop("metadata", None)
    return found


def find_new(deployment: Json, sets: list[Json]) -> Json | None:
    """Return the ReplicaSet that has the template of its Deployment: the oldest, if there are several."""
    wanted = without_hash(deployment["spec"]["template"])
    for one in sorted(sets, key=created):
        if without_hash(one["spec"]["template"]) == wanted:
            return one
    return None


def last_revision(sets: list[Json]) -> int:
    """Return the revision before the newest one; 0 if there is none."""
    revisions = sorted((revision_of(one) for one in sets), reverse=True)
    return revisions[1] if len(revisions) > 1 else 0


def annotate(deployment: Json, one: Json, revision: int) -> bool:
    """Give a new ReplicaSet the annotations of its Deployment and its revision; return whether any is new."""
    meta = one["metadata"]
    found: dict[str, str] = meta.get("annotations") or {}
    before = dict(found)
    found |= {name: value for name, value in annotations_of(deployment).items() if name not in _OWN}
    old = found.get(REVISION)
    if old is not None and old != "" and not old.isdecimal():
        pass  # another client wrote into it: it is left as it is
    elif int(old or 0) < revision:
        found[REVISION] = str(revision)
        if old is not None:
            _remember(found, old)
    if found:
        meta["annotations"] = found
    return found != before


def annotate_size(one: Json, desired: int, maximum: int) -> bool:
    """Annotate a ReplicaSet with how many pods its Deployment wants; return whether that is new."""
    found: dict[str, str] = one["metadata"].setdefault("annotations", {})
    wanted = {DESIRED: str(desired), MAXIMUM: str(maximum)}
    if all(found.get(name) == value for name, value in wanted.items()):
        return False
    found |= wanted
    return True


def size_noted(one: Json, name: str) -> int | None:
    """Return a number of pods from an annotation of a ReplicaSet; None if it is missing or not a number."""
    text = annotations_of(one).get(name, "")
    return int(text) if text.isdecimal() else None


def roll_back(deployment: Json, one: Json) -> None:
    """Give a Deployment the template of a ReplicaSet, and its annotations."""
    deployment["spec"]["template"] = without_hash(one["spec"]["template"])
    kept = {name: value for name, value in annotations_of(deployment).items() if name in _OWN}
    kept |= {name: value for name, value in annotations_of(one).items() if name not in _OWN}
    deployment["metadata"]["annotations"] = kept


def _remember(annotations: dict[str, str], old: str) -> None:
    """Add a revision that a ReplicaSet had to its history, which forgets the oldest when it is too long."""
    history = [one for one in annotations.get(HISTORY, "").split(",") if one]
    history.append(old)
    while history and len(",".join(history)) > _LONGEST_HISTORY:
        history.pop(0)
    annotations[HISTORY] = ",".join(history)


def new_set(deployment: Json) -> Json:
    """Return the ReplicaSet for the template of a Deployment, without pods yet."""
    spec, meta = deployment["spec"], deployment["metadata"]
    template = without_hash(spec["template"])
    short = hash_of(template, member(deployment, "status").get("collisionCount"))
    labels = member(member(template, "metadata"), "labels") | {HASH_LABEL: short}
    template["metadata"] = member(template, "metadata") | {"labels": labels}
    selector: Json = copied(spec["selector"])
    selector["matchLabels"] = member(selector, "matchLabels") | {HASH_LABEL: short}
    name = f"{meta['name'][: _LONGEST_NAME - len(short) - 1]}-{short}"
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
