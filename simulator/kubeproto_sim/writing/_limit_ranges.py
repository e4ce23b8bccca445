"""LimitRanges: the default resources of containers, and the limits of containers, pods and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubeproto.objects import Quantity

from .._state import ServerState
from ..storage._json_values import member, objects_in
from ._quota_usage import Usage, pod_resources

Json = dict[str, Any]
_RESOURCE: Final = "limitranges"
_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_CONTAINERS: Final = (("containers", "container"), ("initContainers", "init container"))


def limit_ranges(state: ServerState, namespace: str) -> list[Json]:
    """Return the LimitRanges of a namespace."""
    objects = state.storage.resource(_RESOURCE).objects
    return [msgspec.json.decode(stored.data) for stored in objects.values() if stored.namespace == namespace]


def set_limits(limit_range: Json, pod: Json) -> None:
    """Set the default requests and limits of the pod's containers, and list them in an annotation."""
    requests: Json = {}
    limits: Json = {}
    for limit in _limits_of(limit_range, "Container"):
        requests |= member(limit, "defaultRequest")
        limits |= member(limit, "default")
    changes: list[str] = []
    for field, label in _CONTAINERS:
        for container in objects_in(pod["spec"], field):
            resources: Json = container.setdefault("resources", {})
            for kind, defaults in (("requests", requests), ("limits", limits)):
                amounts = member(resources, kind)
                missing = {name: value for name, value in defaults.items() if name not in amounts}
                if missing:
                    resources[kind] = amounts | missing
                    changes.append(
                        f"{', '.join(sorted(missing))} {kind[:-1]} for {label} {container['name']}"
                    )
    if changes:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(changes)}"


def limit_violations(limit_range: Json, resource: str, obj: Json) -> Iterator[str]:
    """Return the violations of a LimitRange by a pod or a claim, in a server's words."""
    if resource == "persistentvolumeclaims":
        requests = _amounts(member(member(obj, "spec"), "resources"), "requests")
        for limit in _limits_of(limit_range, "PersistentVolumeClaim"):
            yield from _below_minimum(limit, requests, {})
            yield from _requests_above_maximum(limit, requests)
        return
    for limit in limit_range["spec"].get("limits") or ():
        match limit["type"]:
            case "Container":
                for field, _ in _CONTAINERS:
                    for container in objects_in(obj["spec"], field):
                        resources = member(container, "resources")
                        requests, limits = _amounts(resources, "requests"), _amounts(resources, "limits")
                        yield from _outside_limits(limit, requests, limits)
            case "Pod":
                requests = pod_resources(obj["spec"], "requests")
                yield from _outside_limits(limit, requests, pod_resources(obj["spec"], "limits"))
            case _:
                pass


def _limits_of(limit_range: Json, type_: str) -> list[Json]:
    return [limit for limit in objects_in(limit_range["spec"], "limits") if limit["type"] == type_]


def _amounts(resources: Json, kind: str) -> Usage:
    return {name: Quantity(value) for name, value in member(resources, kind).items()}


def _outside_limits(limit: Json, requests: Usage, limits: Usage) -> Iterator[str]:
    yield from _below_minimum(limit, requests, limits)
    for name, maximum in _amounts(limit, "max").items():
        rule = f"maximum {name} usage per {limit['type']} is {maximum}"
        if name not in limits:
            yield f"{rule}.  No limit is specified"
        elif limits[name] > maximum:
            yield f"{rule}, but limit is {limits[name]}"
        elif name in requests and requests[name] > maximum:
            yield f"{rule}, but request is {requests[name]}"
    for name, ratio in _amounts(limit, "maxLimitRequestRatio").items():
        rule = f"{name} max limit to request ratio per {limit['type']} is {ratio}"
        if not requests.get(name):
            yield f"{rule}, but no request is specified or request is 0"
        elif not limits.get(name):
            yield f"{rule}, but no limit is specified or limit is 0"
        elif (actual := float(limits[name]) / float(requests[name])) > float(ratio):
            yield f"{rule}, but provided ratio is {actual:f}"


def _below_minimum(limit: Json, requests: Usage, limits: Usage) -> Iterator[str]:
    for name, minimum in _amounts(limit, "min").items():
        rule = f"minimum {name} usage per {limit['type']} is {minimum}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif requests[name] < minimum:
            yield f"{rule}, but request is {requests[name]}"
        elif name in limits and limits[name] < minimum:
            yield f"{rule}, but limit is {limits[name]}"


def _requests_above_maximum(limit: Json, requests: Usage) -> Iterator[str]:
    for name, maximum in _amounts(limit, "max").items():
        rule = f"maximum {name} usage per {limit['type']} is {maximum}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif requests[name] > maximum:
            yield f"{rule}, but request is {requests[name]}"
