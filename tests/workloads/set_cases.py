"""StatefulSets: order, names, claims, partitions and revisions."""

from __future__ import annotations

from typing import Any, Final

from deployment_cases import template
from workload_steps import APPS, MERGE, Case, Json, Remove, Report, Send, Wait

DB: Final = {"app": "db"}
ALL: Final = Report(99)
ONE: Final = Report(1)


def statefulset(replicas: int = 3, image: str = "i:1", **spec: Any) -> Send:
    """Create a StatefulSet; `spec` uses the field names of the API."""
    obj: Json = {
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": DB},
        "template": template(image, DB),
        **spec,
    }
    metadata = {"name": "db", "annotations": {"note": "one"}}
    return Send("POST", APPS, "statefulsets", {"metadata": metadata, "spec": obj})


def change_set(**spec: Any) -> Send:
    return Send("PATCH", APPS, "statefulsets/db", {"spec": spec}, MERGE)


def set_image(image: str) -> Send:
    return change_set(template={"spec": {"containers": [{"name": "c", "image": image}]}})


def claim(name: str = "data") -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": spec}


def retention(deleted: str, scaled: str) -> Json:
    return {"whenDeleted": deleted, "whenScaled": scaled}


DELETE: Final = Send("DELETE", APPS, "statefulsets/db")
STATEFULSETS: Final = (
    Case("set-in-order", (statefulset(), ONE, ONE, ONE, change_set(replicas=5), ONE, ONE)),
    Case(
        "set-shrinks",
        (statefulset(), ONE, ONE, ONE, change_set(replicas=1), change_set(replicas=0), DELETE),
    ),
    Case(
        "set-update",
        (statefulset(), ONE, ONE, ONE, set_image("i:2"), ONE, ONE, ONE, set_image("i:1"), ONE, ONE, ONE),
    ),
    Case(
        "set-partition",
        (
            statefulset(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
            ONE, ONE, ONE, set_image("i:2"), ONE, Remove(1, name="db-0"), ONE,
            change_set(updateStrategy={"rollingUpdate": {"partition": 0}}), ONE, ONE, ONE,
        ),
    ),
    Case(
        "set-on-delete",
        (
            statefulset(2, updateStrategy={"type": "OnDelete"}), ONE, ONE, set_image("i:2"),
            Remove(1, name="db-1"), ONE, Remove(1, name="db-0"), ONE,
        ),
    ),
    Case(
        "set-parallel",
        (
            statefulset(4, podManagementPolicy="Parallel"), Report(2), ALL, set_image("i:2"), ONE, ONE, ONE,
            ONE, change_set(replicas=1),
        ),
    ),
    Case(
        "set-pod-dies",
        (
            statefulset(), ONE, ONE, ONE, Report(1, "Failed", ready=False, name="db-1"), ONE,
            Report(1, ready=False, name="db-0"), change_set(replicas=1), Report(1, name="db-0"),
        ),
    ),
    Case(
        "set-with-claims",
        (
            statefulset(2, volumeClaimTemplates=[claim()]), ONE, ONE, change_set(replicas=1),
            change_set(replicas=2), ONE, DELETE,
        ),
    ),
    Case(
        "set-deletes-claims",
        (
            statefulset(
                2, volumeClaimTemplates=[claim()],
                persistentVolumeClaimRetentionPolicy=retention("Delete", "Delete"),
            ),
            ONE, ONE, change_set(replicas=1), change_set(replicas=2), ONE, DELETE,
        ),
    ),
    Case(
        "set-deletes-claims-when-scaled",
        (
            statefulset(
                2, volumeClaimTemplates=[claim()],
                persistentVolumeClaimRetentionPolicy=retention("Retain", "Delete"),
            ),
            ONE, ONE, change_set(replicas=1),
            change_set(persistentVolumeClaimRetentionPolicy=retention("Delete", "Retain")), DELETE,
        ),
    ),
    Case(
        "set-ordinals",
        (statefulset(2, ordinals={"start": 5}), ONE, ONE, change_set(ordinals={"start": 6}), ONE, ONE),
    ),
    Case(
        "set-min-ready",
        (statefulset(2, minReadySeconds=8), ONE, Wait(9), ONE, Wait(9), set_image("i:2"), ONE),
    ),
    Case(
        "set-history",
        (
            statefulset(1, revisionHistoryLimit=1), ONE, set_image("i:2"), ONE, set_image("i:3"), ONE,
            set_image("i:4"), ONE, set_image("i:2"), ONE,
        ),
    ),
    Case(
        "set-bad-image",
        (statefulset(2), ONE, ONE, set_image("bad"), set_image("i:3"), Remove(1, name="db-1"), ONE, ONE),
    ),
    Case("set-deleted-alone", (
        statefulset(2), ONE, ONE, Send("DELETE", APPS, "statefulsets/db?propagationPolicy=Orphan"),
        statefulset(3, "i:1"), ONE,
    )),
)  # fmt: skip
