"""The usage of quotas by an object: its count, and the requests of pods and claims.

Every kind is counted as ``count/deployments.apps``; a few also have an older name. A finished pod uses only
``count/pods``.
"""

from __future__ import annotations

from typing import Any, Final

from kubeproto.objects import Quantity, parse_time

from ..storage._json_values import member, objects_in

Json = dict[str, Any]
Usage = dict[str, Quantity]
_ONE, _NONE = Quantity(1), Quantity(0)
# The older names of counts; all other kinds have the newer name alone.
_OLDER_NAMES: Final = {
    "configmaps": "configmaps", "persistentvolumeclaims": "persistentvolumeclaims", "pods": "pods",
    "replicationcontrollers": "replicationcontrollers", "resourcequotas": "resourcequotas",
    "secrets": "secrets", "services": "services",
}  # fmt: skip
_COMPUTE_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES: Final = frozenset((
    "count/pods", "pods", *_COMPUTE_RESOURCES, *(f"requests.{name}" for name in _COMPUTE_RESOURCES),
    *(f"limits.{name}" for name in _COMPUTE_RESOURCES),
))  # fmt: skip
_SERVICE_NAMES: Final = frozenset(
    ("count/services", "services", "services.nodeports", "services.loadbalancers")
)
_CLASS_SUFFIX: Final = ".storageclass.storage.k8s.io/"
# Resources that each container of a pod must request if a quota limits them.
_REQUIRED_REQUESTS: Final = (
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
)  # fmt: skip


def usage_of(resource: str, obj: Json, now: float) -> Usage:
    """Return the usage of an object by the names in quotas."""
    usage: Usage = {f"count/{resource}": _ONE}
    if resource == "pods":
        return usage | (_pod_usage(obj) if _counts(obj, now) else {})
    if (older_name := _OLDER_NAMES.get(resource)) is not None:
        usage[older_name] = _ONE
    if resource == "services":
        usage |= _service_usage(obj)
    elif resource == "persistentvolumeclaims":
        usage |= _claim_usage(obj)
    return usage


def names_for(resource: str, names: set[str]) -> set[str]:
    """Return the quota keys that count this resource."""
    if resource == "pods":
        return {name for name in names if name in _POD_NAMES or _is_extended_resource(name)}
    if resource == "services":
        return names & _SERVICE_NAMES
    if resource == "persistentvolumeclaims":
        claim_names = {"persistentvolumeclaims", "requests.storage", f"count/{resource}"}
        return {name for name in names if name in claim_names or _CLASS_SUFFIX in name}
    return names & {f"count/{resource}", _OLDER_NAMES.get(resource, "")}


def missing_requests(pod: Json, names: set[str]) -> str:
    """Return the missing requests of a pod's containers in a server's words; empty if there are none."""
    spec = pod["spec"]
    if spec.get("resources"):
        return ""
    containers_by_name: dict[str, set[str]] = {}
    for container in (*objects_in(spec, "containers"), *objects_in(spec, "initContainers")):
        requested_names = _requested_names(container)
        for name in _REQUIRED_REQUESTS:
            if name in names and name not in requested_names:
                containers_by_name.setdefault(name, set()).add(container["name"])
    return "; ".join(
        f"{name} for: {','.join(sorted(containers_by_name[name]))}" for name in sorted(containers_by_name)
    )


def in_scope(quota: Json, resource: str, obj: Json) -> bool:
    """Return whether the scopes of a quota include an object; a quota with scopes counts only pods."""
    spec = quota["spec"]
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += objects_in(member(spec, "scopeSelector"), "matchExpressions")
    if not scopes:
        return True
    return resource == "pods" and all(_matches(scope, obj) for scope in scopes)


def add(usage: Usage, other: Usage) -> Usage:
    """Return the sum of two usages."""
    return {name: usage.get(name, _NONE) + other.get(name, _NONE) for name in {**usage, **other}}


def _counts(pod: Json, now: float) -> bool:
    """Return whether a pod counts: it has not finished, and its deletion is not overdue."""
    meta = pod["metadata"]
    if member(pod, "status").get("phase") in ("Failed", "Succeeded"):
        return False
    grace = meta.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in meta or grace is None:
        return True
    return bool(parse_time(meta["deletionTimestamp"]).timestamp() + grace >= now)


def _pod_usage(pod: Json) -> Usage:
    usage: Usage = {"pods": _ONE}
    for kind in ("requests", "limits"):
        for name, amount in pod_resources(pod["spec"], kind).items():
            if name in _COMPUTE_RESOURCES:
                usage[f"{kind}.{name}"] = amount
                if kind == "requests":
                    usage[name] = amount
            elif kind == "requests":
                usage[f"requests.{name}"] = amount
                if name.startswith("hugepages-"):
                    usage[name] = amount
    return usage


def pod_resources(spec: Json, kind: str) -> Usage:
    """Return the requests of a pod: the sum of its containers, or those of a larger init container."""
    total: Usage = {}
    for container in objects_in(spec, "containers"):
        total = add(total, _amounts(container, kind))
    sidecars: Usage = {}
    peak: Usage = {}
    for container in objects_in(spec, "initContainers"):
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
    amounts = member(member(container, "resources"), kind)
    return {name: Quantity(value) for name, value in amounts.items()}


def _requested_names(container: Json) -> set[str]:
    resources = member(container, "resources")
    names = {f"limits.{name}" for name in member(resources, "limits")}
    for name in member(resources, "requests"):
        names |= {name, f"requests.{name}"}
    return names


def _is_extended_resource(name: str) -> bool:
    resource_name = name.removeprefix("requests.")
    if resource_name.startswith("hugepages-"):
        return True
    return name.startswith("requests.") and "/" in resource_name and _CLASS_SUFFIX not in name


def _service_usage(service: Json) -> Usage:
    spec = service["spec"]
    ports = objects_in(spec, "ports")
    is_load_balancer = spec.get("type") == "LoadBalancer"
    node_port_count = 0
    if spec.get("type") == "NodePort" or (
        is_load_balancer and spec.get("allocateLoadBalancerNodePorts", True)
    ):
        node_port_count = len(ports)
    elif is_load_balancer:
        node_port_count = sum("nodePort" in port for port in ports)
    return {
        "services.nodeports": Quantity(node_port_count),
        "services.loadbalancers": Quantity(int(is_load_balancer)),
    }


def _claim_usage(claim: Json) -> Usage:
    spec = claim["spec"]
    annotation = "volume.beta.kubernetes.io/storage-class"
    class_name = (
        member(claim["metadata"], "annotations").get(annotation) or spec.get("storageClassName") or ""
    )
    usage: Usage = {f"{class_name}{_CLASS_SUFFIX}persistentvolumeclaims": _ONE} if class_name else {}
    storage = member(member(spec, "resources"), "requests").get("storage")
    if storage is not None:
        amount = Quantity(storage)
        usage["requests.storage"] = amount
        if class_name:
            usage[f"{class_name}{_CLASS_SUFFIX}requests.storage"] = amount
    return usage


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
            results = {"In": name in values, "NotIn": name not in values, "DoesNotExist": not name}
            return results.get(operator, bool(name))
        case _:
            return False  # affinity to pods of other namespaces is not simulated


def _is_best_effort(spec: Json) -> bool:
    containers = (*objects_in(spec, "containers"), *objects_in(spec, "initContainers"))
    return not any(
        member(container, "resources").get(kind)
        for container in containers
        for kind in ("requests", "limits")
    )
