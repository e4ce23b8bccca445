"""How many replicas an owner of pods has in its spec, and percentages of such a number."""

from __future__ import annotations

from typing import Any, Final

from ...storage._json_values import member
from ._object_client import Json, ObjectClient
from ._ownership_claims import controller_of

_SCALABLE: Final = {
    ("apps", "ReplicaSet"): "replicasets.apps",
    ("apps", "StatefulSet"): "statefulsets.apps",
    ("", "ReplicationController"): "replicationcontrollers",
}


class UnknownScale(Exception):
    """The number of replicas of an owner cannot be determined."""


def resolve_percentage(value: Any, total: int, *, round_up: bool) -> int:
    """Return a number as it is, and a percentage such as ``25%`` as a part of `total`."""
    if isinstance(value, str) and value.endswith("%"):
        hundredths = int(value[:-1]) * total
        return -(-hundredths // 100) if round_up else hundredths // 100
    return int(value or 0)


def required_healthy(budget_spec: Json, expected: int) -> int:
    """Return how many of the expected pods a PodDisruptionBudget requires to be healthy."""
    if (min_available := budget_spec.get("minAvailable")) is not None:
        return resolve_percentage(min_available, expected, round_up=True)
    unavailable = resolve_percentage(budget_spec.get("maxUnavailable", 0), expected, round_up=True)
    return max(expected - unavailable, 0)


def scale_of(objects: ObjectClient, reference: Json, namespace: str) -> tuple[str, int] | None:
    """Return the uid and the replicas of the object that a reference names.

    Raise `UnknownScale` if it has none.

    The scale of a ReplicaSet is that of its Deployment. None means that the object does not exist.
    """
    group = reference["apiVersion"].rpartition("/")[0]
    key = f"{namespace}/{reference['name']}"
    resource = _SCALABLE.get((group, reference["kind"]))
    if resource is None:
        return _scale_of_custom_resource(objects, reference, key)
    owner = objects.get(resource, key)
    if owner is None or owner["metadata"]["uid"] != reference["uid"]:
        return None
    parent = controller_of(owner)
    if parent is not None and parent["kind"] == "Deployment":
        deployment = objects.get("deployments.apps", f"{namespace}/{parent['name']}")
        if deployment is None or deployment["metadata"]["uid"] != parent["uid"]:
            return None
        owner = deployment
    return owner["metadata"]["uid"], owner["spec"].get("replicas", 1)


def _scale_of_custom_resource(objects: ObjectClient, reference: Json, key: str) -> tuple[str, int] | None:
    served = objects.state.kinds.of_kind(reference["apiVersion"], reference["kind"])
    if served is None:
        group, _, version = reference["apiVersion"].rpartition("/")
        raise UnknownScale(f'no matches for kind "{reference["kind"]}" in version "{group}/{version}"')
    scale = served.defined.scale if served.defined is not None else None
    if scale is None:
        raise UnknownScale(f"{served.full_name} does not implement the scale subresource")
    stored = served.storage.objects.get(key)
    if stored is None or stored.uid != reference["uid"]:
        return None
    obj: Json = served.read(stored.data)
    *path, field = scale.spec_replicas.removeprefix(".").split(".")
    for name in path:
        obj = member(obj, name)
    return stored.uid, int(obj.get(field) or 0)
