"""What a server fills in that no schema says: the defaults of the workload kinds, and fresh statuses."""

from __future__ import annotations

from typing import Any, Final

from ._kinds import Served
from ._parts import listed, member

_POD: Final = {
    "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}  # fmt: skip
_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
}  # fmt: skip
_ROLLING: Final = {"maxUnavailable": "25%", "maxSurge": "25%"}
# What admission adds to every pod: it may stay five minutes on a node in trouble.
_TOLERATIONS: Final = tuple(
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for what in ("not-ready", "unreachable")
)


def fill_in(served: Served, obj: dict[str, Any]) -> None:
    """Fill in what an object of this kind leaves out, in place."""
    if served.custom or not (fill := _FILLS.get(served.full_name)):
        return
    fill(obj)


def admit(served: Served, obj: dict[str, Any]) -> None:
    """What a server adds of its own to a new object: nobody owns these fields."""
    match served.full_name:
        case "pods":
            _admit_pod(obj["spec"])
            obj["status"] = {"phase": "Pending", "qosClass": _quality(obj)}
        case "namespaces":
            obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
            obj["status"] = {"phase": "Active"}
        case "customresourcedefinitions.apiextensions.k8s.io":
            stored = [one["name"] for one in listed(obj["spec"], "versions") if one.get("storage")]
            obj["status"] = {"storedVersions": stored}
        case "persistentvolumeclaims" | "persistentvolumes":
            obj["status"] = {"phase": "Pending"}
        case "services":
            obj["status"] = {"loadBalancer": {}}
        case _:
            pass


def _pod(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    _pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)


def _admit_pod(spec: dict[str, Any]) -> None:
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    tolerations = spec.setdefault("tolerations", [])
    keys = {one.get("key") for one in tolerations}
    tolerations += [dict(one) for one in _TOLERATIONS if one["key"] not in keys]


def _pod_spec(spec: dict[str, Any]) -> None:
    for name, value in _POD.items():
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    for container in [*listed(spec, "containers"), *listed(spec, "initContainers")]:
        for name, value in _CONTAINER.items():
            container.setdefault(name, value)
        image: str = container.get("image", "")
        latest = ":" not in image.rpartition("/")[2] or image.endswith(":latest")
        container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
        for port in listed(container, "ports"):
            port.setdefault("protocol", "TCP")


def _deployment(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if not strategy:
        strategy.update({"type": "RollingUpdate", "rollingUpdate": dict(_ROLLING)})
    _template(spec)


def _workload(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    _template(spec)


def _daemon_set(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", 10)
    _template(spec)


def _template(spec: dict[str, Any]) -> None:
    if template := member(spec, "template"):
        _pod_spec(template.setdefault("spec", {}))


def _job(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    for name, value in (("parallelism", 1), ("completions", 1), ("backoffLimit", 6)):
        spec.setdefault(name, value)
    _template(spec)


def _service(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in listed(spec, "ports"):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _namespace(obj: dict[str, Any]) -> None:
    meta = obj["metadata"]
    meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta.get("name", "")


def _secret(obj: dict[str, Any]) -> None:
    import base64

    obj.setdefault("type", "Opaque")
    plain = member(obj, "stringData")
    obj.pop("stringData", None)
    for key, value in plain.items():
        obj.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()


def _definition(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {}).setdefault("strategy", "None")


def _quality(obj: dict[str, Any]) -> str:
    wanted = [member(one, "resources") for one in listed(obj["spec"], "containers")]
    if not any(one.get("requests") or one.get("limits") for one in wanted):
        return "BestEffort"
    full = all({"cpu", "memory"} <= member(one, "limits").keys() for one in wanted)
    same = all((one.get("requests") or one.get("limits")) == one.get("limits") for one in wanted)
    return "Guaranteed" if full and same else "Burstable"


_FILLS: Final = {
    "pods": _pod,
    "deployments.apps": _deployment,
    "replicasets.apps": _workload,
    "statefulsets.apps": _workload,
    "daemonsets.apps": _daemon_set,
    "jobs.batch": _job,
    "services": _service,
    "namespaces": _namespace,
    "secrets": _secret,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
}
