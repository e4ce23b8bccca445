"""How many pods a controller wants, whatever kind of controller it is."""

from __future__ import annotations

from ...storage._json_values import member
from ._objects import Json, Objects
from ._ownership import controller_of

_SCALED = {
    ("apps", "ReplicaSet"): "replicasets.apps",
    ("apps", "StatefulSet"): "statefulsets.apps",
    ("", "ReplicationController"): "replicationcontrollers",
}


def scale_of(objects: Objects, reference: Json, namespace: str) -> tuple[str, int] | str | None:
    """Return the uid of the scaled object and its size; None if it does not exist, or why it has no size."""
    group = reference["apiVersion"].rpartition("/")[0]
    key = f"{namespace}/{reference['name']}"
    resource = _SCALED.get((group, reference["kind"]))
    if resource is None:
        return _custom_scale(objects, reference, key)
    found = objects.get(resource, key)
    if found is None or found["metadata"]["uid"] != reference["uid"]:
        return None
    above = controller_of(found)
    if above is not None and above["kind"] == "Deployment":
        deployment = objects.get("deployments.apps", f"{namespace}/{above['name']}")
        if deployment is None or deployment["metadata"]["uid"] != above["uid"]:
            return None
        found = deployment
    return found["metadata"]["uid"], found["spec"].get("replicas", 1)


def _custom_scale(objects: Objects, reference: Json, key: str) -> tuple[str, int] | str | None:
    """Return the same for a custom resource, by the `scale` of its definition."""
    served = objects.state.kinds.of_kind(reference["apiVersion"], reference["kind"])
    if served is None:
        group, _, version = reference["apiVersion"].rpartition("/")
        return f'no matches for kind "{reference["kind"]}" in version "{group}/{version}"'
    scale = served.defined.scale if served.defined is not None else None
    if scale is None:
        return f"{served.full_name} does not implement the scale subresource"
    stored = served.storage.objects.get(key)
    if stored is None or stored.uid != reference["uid"]:
        return None
    found: Json = served.read(stored.data)
    *path, last = scale.spec_replicas.removeprefix(".").split(".")
    for name in path:
        found = member(found, name)
    return stored.uid, int(found.get(last) or 0)
