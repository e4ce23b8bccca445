"""What a server fills in: the defaults of the table, computed ones, and what it adds to new objects."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec

from kubeproto.kinds import table

from ..storage._json_values import listed, member, texts
from ._builtin import built_in, fill, has_defaults
from ._kinds import Served

Json = dict[str, Any]
# What admission adds to every pod: it may stay five minutes on a node with problems.
_TOLERATIONS: Final = tuple(
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for what in ("not-ready", "unreachable")
)
# Kinds whose objects hold a pod, and the path to its spec.
POD_SPECS: Final = {
    "pods": ("spec",),
    "podtemplates": ("template", "spec"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template", "spec"),
} | dict.fromkeys(
    ("replicationcontrollers", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps",
     "jobs.batch"), ("spec", "template", "spec"),
)  # fmt: skip
# The finalizers of objects that stay as long as something uses them.
FINALIZERS: Final = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CONTAINERS: Final = ("containers", "initContainers")


def fill_in(served: Served, obj: Json) -> None:
    """Fill in what an object of this kind leaves out, in place."""
    if served.custom or not _fills_in(served.type, served.full_name):
        return
    if (before := _BEFORE.get(served.full_name)) is not None:
        before(obj)
    fill(served.type, obj)
    for one in listed(obj, "subjects"):
        if one.get("apiGroup") == "":
            del one["apiGroup"]
    for spec in pod_specs(served, obj):
        _pod_spec(spec, whole=served.full_name == "pods")


@cache
def _fills_in(type_: str, full_name: str) -> bool:
    """Return whether anything is filled in for a kind: there is nothing in a ConfigMap or a Lease."""
    if full_name in _BEFORE or full_name in POD_SPECS or "subjects" in table().types[type_].fields:
        return True
    return has_defaults(type_)


def pod_specs(served: Served, obj: Json) -> Iterator[Json]:
    """Return the spec of the pod that an object contains; None if it contains none."""
    if (path := POD_SPECS.get(served.full_name)) is not None:
        for name in path:
            obj = member(obj, name)
        if obj:
            yield obj


def admit(served: Served, obj: Json) -> None:
    """Add what a server adds to a new object; nobody owns these fields."""
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
        case "persistentvolumeclaims":
            obj["status"] = {"phase": "Pending"}
        case "persistentvolumes":
            obj["status"] = {
                "phase": "Pending",
                "lastPhaseTransitionTime": obj["metadata"]["creationTimestamp"],
            }
        case "nodes":
            taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
            spec = obj.setdefault("spec", {})
            if taint not in listed(spec, "taints"):
                spec["taints"] = [*listed(spec, "taints"), taint]
            _fresh_status(served, obj)
        case "certificatesigningrequests.certificates.k8s.io":
            obj["spec"] |= {"username": "sim", "groups": ["system:authenticated"]}
            _fresh_status(served, obj)
        case "services":
            obj["status"] = {"loadBalancer": {}}
        case "jobs.batch":
            _admit_job(obj)
            _fresh_status(served, obj)
        case _:
            _fresh_status(served, obj)
    if (finalizer := FINALIZERS.get(served.full_name)) and finalizer not in texts(
        obj["metadata"], "finalizers"
    ):
        obj["metadata"]["finalizers"] = [*texts(obj["metadata"], "finalizers"), finalizer]


def _fresh_status(served: Served, obj: Json) -> None:
    rule = built_in().defaults.get(served.type, {}).get("status")
    if rule and served.has_status:
        obj["status"] = msgspec.json.decode(msgspec.json.encode(rule[0]))


def _pod_spec(spec: Json, *, whole: bool) -> None:
    """Fill in what depends on more than one field of a pod's spec; `whole` is a pod and not a template."""
    for container in (one for field in _CONTAINERS for one in listed(spec, field)):
        container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
        if whole and (limits := member(member(container, "resources"), "limits")):
            requests = container["resources"].setdefault("requests", {})
            for name, limit in limits.items():
                requests.setdefault(name, limit)
    for volume in listed(spec, "volumes"):
        if len(volume) <= 1:
            volume["emptyDir"] = {}
        if image := member(volume, "image"):
            image.setdefault("pullPolicy", _pull_policy(image.get("reference", "")))
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    if spec.get("hostNetwork"):
        for container in (one for field in _CONTAINERS for one in listed(spec, field)):
            for port in listed(container, "ports"):
                port.setdefault("hostPort", port.get("containerPort"))


def _pull_policy(image: str) -> str:
    latest = "@" not in image and (":" not in image.rpartition("/")[2] or image.endswith(":latest"))
    return "Always" if latest else "IfNotPresent"


def _admit_pod(spec: Json) -> None:
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    tolerations = spec.setdefault("tolerations", [])
    keys = {one.get("key") for one in tolerations}
    tolerations += [dict(one) for one in _TOLERATIONS if one["key"] not in keys]


def _admit_job(obj: Json) -> None:
    """Select the pods of a job by its own uid, unless it has its own selector."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or "uid" not in meta:
        return
    uid = meta["uid"]
    spec.setdefault("selector", {}).setdefault("matchLabels", {})["batch.kubernetes.io/controller-uid"] = uid
    template = spec["template"]
    metadata: dict[str, Any] = template.get("metadata") or {}
    labels = {"controller-uid": uid, "job-name": meta["name"]}
    labels |= {f"batch.kubernetes.io/{name}": value for name, value in labels.items()}
    template["metadata"] = metadata | {"labels": member(metadata, "labels") | labels}
    meta.setdefault("labels", dict(template["metadata"]["labels"]))


def _job(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = spec["parallelism"] = 1
    if "backoffLimitPerIndex" in spec:
        spec.setdefault("backoffLimit", 2**31 - 1)  # each index has its own
    if "podFailurePolicy" in spec:
        spec.setdefault("podReplacementPolicy", "Failed")  # the policy judges only pods that have ended


def _controller(obj: Json) -> None:
    """Label a ReplicationController as its pods are, and select them by all of their labels."""
    spec = obj.setdefault("spec", {})
    if labels := member(member(member(spec, "template"), "metadata"), "labels"):
        spec.setdefault("selector", dict(labels))
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)


def _service(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    for name in ("clusterIP", "externalName"):
        if spec.get(name) == "":
            del spec[name]
    kind = spec.setdefault("type", "ClusterIP")
    for port in listed(spec, "ports"):
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port")
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")


def _network_policy(obj: Json) -> None:
    spec = member(obj, "spec")
    if spec or "spec" in obj:
        egress = ["Egress"] if listed(spec, "egress") else []
        obj["spec"].setdefault("policyTypes", ["Ingress", *egress])


def _autoscaler(obj: Json) -> None:
    """Fill in the two directions of a behavior, whose defaults differ; without a behavior there are none."""
    notes = member(obj["metadata"], "annotations")
    if obj.get("apiVersion") == "autoscaling/v1" and _METRICS not in notes:
        obj.setdefault("spec", {}).setdefault("targetCPUUtilizationPercentage", 80)
    behavior = member(obj, "spec").get("behavior")
    if behavior is None:
        return
    percent = {"type": "Percent", "value": 100, "periodSeconds": 15}
    up = behavior.setdefault("scaleUp", {})
    up.setdefault("stabilizationWindowSeconds", 0)
    up.setdefault("selectPolicy", "Max")
    up.setdefault("policies", [{"type": "Pods", "value": 4, "periodSeconds": 15}, percent])
    down = behavior.setdefault("scaleDown", {})
    down.setdefault("selectPolicy", "Max")
    down.setdefault("policies", [dict(percent)])


def _limit_range(obj: Json) -> None:
    if member(obj, "spec").get("limits") == []:
        del obj["spec"]["limits"]
    for item in listed(member(obj, "spec"), "limits"):
        if item.get("type") != "Container":
            continue
        if top := member(item, "max"):
            item["default"] = top | member(item, "default")
        if least := member(item, "default") or member(item, "min"):
            both = member(item, "min") | member(item, "default") if "min" in item else least
            item["defaultRequest"] = both | member(item, "defaultRequest")


def _binding(obj: Json) -> None:
    """Fill in the group of subjects: users and groups have that of roles, service accounts none."""
    for one in listed(obj, "subjects"):
        if not one.get("apiGroup"):
            one["apiGroup"] = "rbac.authorization.k8s.io" if one.get("kind") in ("User", "Group") else ""


def _stateful_set(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("serviceName") == "":
        del spec["serviceName"]
    strategy = spec.setdefault("updateStrategy", {})
    # In a feature that is off unless it is asked for, up to 1.36.
    member(strategy, "rollingUpdate").pop("maxUnavailable", None)
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    for claim in listed(spec, "volumeClaimTemplates"):
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def _daemon_set(obj: Json) -> None:
    obj["metadata"].setdefault("annotations", {}).setdefault(TEMPLATE_GENERATION, "1")


def _namespace(obj: Json) -> None:
    meta = obj["metadata"]
    meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta.get("name", "")


def _secret(obj: Json) -> None:
    obj.setdefault("type", "Opaque")
    plain = member(obj, "stringData")
    obj.pop("stringData", None)
    for key, value in plain.items():
        obj.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()


def _definition(obj: Json) -> None:
    names = obj.setdefault("spec", {}).setdefault("names", {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    obj["spec"].setdefault("conversion", {}).setdefault("strategy", "None")


def _quality(obj: Json) -> str:
    wanted = [member(one, "resources") for one in listed(obj["spec"], "containers")]
    if not any(one.get("requests") or one.get("limits") for one in wanted):
        return "BestEffort"
    full = all({"cpu", "memory"} <= member(one, "limits").keys() for one in wanted)
    same = all((one.get("requests") or one.get("limits")) == one.get("limits") for one in wanted)
    return "Guaranteed" if full and same else "Burstable"


_BEFORE: Final[dict[str, Callable[[Json], None]]] = {
    "jobs.batch": _job,
    "statefulsets.apps": _stateful_set,
    "daemonsets.apps": _daemon_set,
    "rolebindings.rbac.authorization.k8s.io": _binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _binding,
    "services": _service,
    "namespaces": _namespace,
    "secrets": _secret,
    "limitranges": _limit_range,
    "replicationcontrollers": _controller,
    "networkpolicies.networking.k8s.io": _network_policy,
    "horizontalpodautoscalers.autoscaling": _autoscaler,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
}
