"""What an object uses of a quota: its count, and the requests of pods and claims.

Every kind is counted as ``count/deployments.apps``; a few also have an older name. A pod that has finished
uses only its ``count/pods``.
"""

from __future__ import annotations

from typing import Any, Final

from kubeproto.objects import Quantity, parse_time

from ..storage._json_values import listed, member

Json = dict[str, Any]
Usage = dict[str, Quantity]
_ONE, _NONE = Quantity(1), Quantity(0)
# The older names of counts. All other kinds are counted under the newer name only.
_OLDER: Final = {
    "configmaps": "configmaps", "persistentvolumeclaims": "persistentvolumeclaims", "pods": "pods",
    "replicationcontrollers": "replicationcontrollers", "resourcequotas": "resourcequotas",
    "secrets": "secrets", "services": "services",
}  # fmt: skip
_COMPUTED: Final = ("cpu", "memory", "ephemeral-storage")
_OF_PODS: Final = frozenset((
    "count/pods", "pods", *_COMPUTED, *(f"requests.{name}" for name in _COMPUTED),
    *(f"limits.{name}" for name in _COMPUTED),
))  # fmt: skip
_OF_SERVICES: Final = frozenset(
    ("count/services", "services", "services.nodeports", "services.loadbalancers")
)
_CLASS: Final = ".storageclass.storage.k8s.io/"
# What each container of a pod must request if a quota limits it.
_DEMANDED: Final = (
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
)  # fmt: skip


def usage_of(resource: str, obj: Json, now: float) -> Usage:
    """Return the usage of an object of a resource, by the names that quotas have for it."""
    used: Usage = {f"count/{resource}": _ONE}
    if resource == "pods":
        return used | (_of_pod(obj) if _counts(obj, now) else {})
    if (older := _OLDER.get(resource)) is not None:
        used[older] = _ONE
    if resource == "services":
        used |= _of_service(obj)
    elif resource == "persistentvolumeclaims":
        used |= _of_claim(obj)
    return used


def names_for(resource: str, names: set[str]) -> set[str]:
    """Return those of the names of a quota that objects of a resource are counted by."""
    if resource == "pods":
        return {name for name in names if name in _OF_PODS or _is_of_pods(name)}
    if resource == "services":
        return names & _OF_SERVICES
    if resource == "persistentvolumeclaims":
        own = {"persistentvolumeclaims", "requests.storage", f"count/{resource}"}
        return {name for name in names if name in own or _CLASS in name}
    return names & {f"count/{resource}", _OLDER.get(resource, "")}


def missing_requests(pod: Json, names: set[str]) -> str:
    """Return what the containers of a pod must request and do not, in a server's words; empty if nothing."""
    spec = pod["spec"]
    if spec.get("resources"):
        return ""
    lacking: dict[str, set[str]] = {}
    for container in (*listed(spec, "containers"), *listed(spec, "initContainers")):
        asked = _names_asked(container)
        for name in _DEMANDED:
            if name in names and name not in asked:
                lacking.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


def in_scope(quota: Json, resource: str, obj: Json) -> bool:
    """Whether the scopes of a quota include an object; a quota with scopes counts only pods."""
    spec = quota["spec"]
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += listed(member(spec, "scopeSelector"), "matchExpressions")
    if not scopes:
        return True
    return resource == "pods" and all(_matches(one, obj) for one in scopes)


def add(one: Usage, other: Usage) -> Usage:
    """Return the sum of two usages."""
    return {name: one.get(name, _NONE) + other.get(name, _NONE) for name in {**one, **other}}


def _counts(pod: Json, now: float) -> bool:
    """Whether a pod uses anything: it has not ended, and its deletion is not long overdue."""
    meta = pod["metadata"]
    if member(pod, "status").get("phase") in ("Failed", "Succeeded"):
        return False
    grace = meta.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in meta or grace is None:
        return True
    return bool(parse_time(meta["deletionTimestamp"]).timestamp() + grace >= now)


def _of_pod(pod: Json) -> Usage:
    used: Usage = {"pods": _ONE}
    for kind in ("requests", "limits"):
        for name, amount in _asked(pod["spec"], kind).items():
            if name in _COMPUTED:
                used[f"{kind}.{name}"] = amount
                if kind == "requests":
                    used[name] = amount
            elif kind == "requests":
                used[f"requests.{name}"] = amount
                if name.startswith("hugepages-"):
                    used[name] = amount
    return used


def _asked(spec: Json, kind: str) -> Usage:
    """Return what a pod requests: the sum of its containers, or the largest of those that run before them."""
    total: Usage = {}
    for container in listed(spec, "containers"):
        total = add(total, _amounts(container, kind))
    sidecars: Usage = {}
    peak: Usage = {}
    for container in listed(spec, "initContainers"):
        amounts = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            sidecars = add(sidecars, amounts)
            amounts = sidecars
        else:
            amounts = add(sidecars, amounts)
        peak = {name: max(peak.get(name, _NONE), amounts.get(name, _NONE)) for name in {**peak, **amounts}}
    total = add(total, sidecars)
    total = {name: max(total.get(name, _NONE), peak.get(name, _NONE)) for name in {**total, **peak}}
    total |= {name: Quantity(value) for name, value in member(member(spec, "resources"), kind).items()}
    overhead = {name: Quantity(value) for name, value in member(spec, "overhead").items()}
    if kind == "limits":
        overhead = {name: value for name, value in overhead.items() if name in total}
    return add(total, overhead)


def _amounts(container: Json, kind: str) -> Usage:
    found = member(member(container, "resources"), kind)
    return {name: Quantity(value) for name, value in found.items()}


def _names_asked(container: Json) -> set[str]:
    resources = member(container, "resources")
    asked = {f"limits.{name}" for name in member(resources, "limits")}
    for name in member(resources, "requests"):
        asked |= {name, f"requests.{name}"}
    return asked


def _is_of_pods(name: str) -> bool:
    plain = name.removeprefix("requests.")
    if plain.startswith("hugepages-"):
        return True
    return name.startswith("requests.") and "/" in plain and _CLASS not in name


def _of_service(service: Json) -> Usage:
    spec = service["spec"]
    ports = listed(spec, "ports")
    balanced = spec.get("type") == "LoadBalancer"
    numbered = 0
    if spec.get("type") == "NodePort" or (balanced and spec.get("allocateLoadBalancerNodePorts", True)):
        numbered = len(ports)
    elif balanced:
        numbered = sum("nodePort" in port for port in ports)
    return {"services.nodeports": Quantity(numbered), "services.loadbalancers": Quantity(int(balanced))}


def _of_claim(claim: Json) -> Usage:
    spec = claim["spec"]
    annotation = "volume.beta.kubernetes.io/storage-class"
    of_class = member(claim["metadata"], "annotations").get(annotation) or spec.get("storageClassName") or ""
    used: Usage = {f"{of_class}{_CLASS}persistentvolumeclaims": _ONE} if of_class else {}
    storage = member(member(spec, "resources"), "requests").get("storage")
    if storage is not None:
        amount = Quantity(storage)
        used["requests.storage"] = amount
        if of_class:
            used[f"{of_class}{_CLASS}requests.storage"] = amount
    return used


def _matches(scope: Json, pod: Json) -> bool:
    spec, operator = pod["spec"], scope.get("operator", "Exists")
    match scope["scopeName"]:
        case "Terminating":
            return (spec.get("activeDeadlineSeconds") or -1) >= 0
        case "NotTerminating":
            return (spec.get("activeDeadlineSeconds") or -1) < 0
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "PriorityClass":
            name, values = spec.get("priorityClassName") or "", scope.get("values") or ()
            held = {"In": name in values, "NotIn": name not in values, "DoesNotExist": not name}
            return held.get(operator, bool(name))
        case _:
            return False  # affinity to pods of other namespaces: not distinguished here


def _is_best_effort(spec: Json) -> bool:
    containers = (*listed(spec, "containers"), *listed(spec, "initContainers"))
    return not any(
        member(one, "resources").get(kind) for one in containers for kind in ("requests", "limits")
    )
