"""Defaults of built-in kinds: those of the table, computed ones, and the fields that admission adds."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec

from kubeproto.kinds import kind_table

from ..storage._json_values import member, objects_in, strings_in
from ._builtin_table import built_in, fill, has_defaults
from ._served_kinds import ServedKind

Json = dict[str, Any]
# Kinds that contain the spec of a pod, with its path.
POD_SPECS: Final = {
    "pods": ("spec",),
    "podtemplates": ("template", "spec"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template", "spec"),
} | dict.fromkeys(
    ("replicationcontrollers", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps",
     "jobs.batch"), ("spec", "template", "spec"),
)  # fmt: skip
# Finalizers that protect objects in use.
FINALIZERS: Final = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_NAME_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?:{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?/)?{_NAME_PART}(?:/{_NAME_PART})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>.+))?"
)
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CONTAINERS: Final = ("containers", "initContainers")


def fill_in(served: ServedKind, obj: Json) -> None:
    """Set the defaults of missing fields, in place."""
    if served.custom or not _has_any_defaults(served.type, served.full_name):
        return
    if (prepare := _COMPUTED_DEFAULTS.get(served.full_name)) is not None:
        prepare(obj)
    fill(served.type, obj)
    for subject in objects_in(obj, "subjects"):
        if subject.get("apiGroup") == "":
            del subject["apiGroup"]
    for spec in pod_specs(served, obj):
        _default_pod_spec(spec, is_pod=served.full_name == "pods")


@cache
def _has_any_defaults(type_: str, full_name: str) -> bool:
    """Return whether a kind has any defaults; a ConfigMap and a Lease have none."""
    if (
        full_name in _COMPUTED_DEFAULTS
        or full_name in POD_SPECS
        or "subjects" in kind_table().types[type_].fields
    ):
        return True
    return has_defaults(type_)


def pod_specs(served: ServedKind, obj: Json) -> Iterator[Json]:
    """Yield the spec of the pod that an object contains, if it contains one."""
    if (path := POD_SPECS.get(served.full_name)) is not None:
        for name in path:
            obj = member(obj, name)
        if obj:
            yield obj


def admit(served: ServedKind, obj: Json, user_info: Json) -> None:
    """Add the fields that a server sets on a new object of a user; no manager owns them."""
    drop_disabled_fields(served, obj)
    match served.full_name:
        case "pods":
            if (obj["spec"].get("terminationGracePeriodSeconds") or 0) < 0:
                obj["spec"]["terminationGracePeriodSeconds"] = 1
            obj["status"] = {"phase": "Pending", "qosClass": _qos_class(obj)}
        case "namespaces":
            spec = obj.setdefault("spec", {})
            if "kubernetes" not in strings_in(spec, "finalizers"):
                spec["finalizers"] = [*strings_in(spec, "finalizers"), "kubernetes"]
            obj["status"] = {"phase": "Active"}
        case "customresourcedefinitions.apiextensions.k8s.io":
            stored = [
                version["name"] for version in objects_in(obj["spec"], "versions") if version.get("storage")
            ]
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
            if taint not in objects_in(spec, "taints"):
                spec["taints"] = [*objects_in(spec, "taints"), taint]
            _set_initial_status(served, obj)
        case "certificatesigningrequests.certificates.k8s.io":
            for name in ("username", "uid", "groups", "extra"):
                obj["spec"].pop(name, None)
            obj["spec"] |= user_info
            _set_initial_status(served, obj)
        case "services":
            obj["status"] = {"loadBalancer": {}}
        case "jobs.batch":
            _admit_job(obj)
            _set_initial_status(served, obj)
        case _:
            _set_initial_status(served, obj)
    if (finalizer := FINALIZERS.get(served.full_name)) and finalizer not in strings_in(
        obj["metadata"], "finalizers"
    ):
        obj["metadata"]["finalizers"] = [*strings_in(obj["metadata"], "finalizers"), finalizer]


# Fields of the spec that a server removes because their feature gate is off, by the storage of their kind.
_DISABLED_FIELDS: Final = {
    "leases.coordination.k8s.io": ("preferredHolder", "strategy"),
    "nodes": ("configSource",),
    "csidrivers.storage.k8s.io": ("preventPodSchedulingIfMissing",),
}


def drop_disabled_fields(served: ServedKind, obj: Json) -> None:
    """Remove the fields whose feature gates are off; their manager keeps their ownership."""
    for name in _DISABLED_FIELDS.get(served.full_name, ()):
        member(obj, "spec").pop(name, None)
    for spec in pod_specs(served, obj):
        spec.pop("schedulingGroup", None)
        for container in (each for field in _CONTAINERS for each in objects_in(spec, field)):
            lifecycle = member(container, "lifecycle")
            if lifecycle.pop("stopSignal", None) and not lifecycle:
                del container["lifecycle"]


def _set_initial_status(served: ServedKind, obj: Json) -> None:
    rule = built_in().defaults.get(served.type, {}).get("status")
    if rule and served.has_status:
        obj["status"] = msgspec.json.decode(msgspec.json.encode(rule[0]))


def _default_pod_spec(spec: Json, *, is_pod: bool) -> None:
    """Set the defaults that depend on several fields of a pod's spec, or of a template's."""
    for container in (each for field in _CONTAINERS for each in objects_in(spec, field)):
        container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
        if is_pod and (limits := member(member(container, "resources"), "limits")):
            requests = container["resources"].setdefault("requests", {})
            for name, limit in limits.items():
                requests.setdefault(name, limit)
    for volume in objects_in(spec, "volumes"):
        if len(volume) <= 1:
            volume["emptyDir"] = {}
        if image := member(volume, "image"):
            image.setdefault("pullPolicy", _pull_policy(image.get("reference", "")))
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    if spec.get("hostNetwork"):
        for container in (each for field in _CONTAINERS for each in objects_in(spec, field)):
            for port in objects_in(container, "ports"):
                port.setdefault("hostPort", port.get("containerPort"))


def _pull_policy(image: str) -> str:
    """Return the policy of an image: a server pulls the tag "latest", but no malformed name."""
    match = _IMAGE.fullmatch(image)
    is_latest = match is not None and (match["tag"] == "latest" or not (match["tag"] or match["digest"]))
    return "Always" if is_latest else "IfNotPresent"


def _admit_job(obj: Json) -> None:
    """Set the selector of a Job to its uid, unless the client sets a selector."""
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


def _default_job(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = spec["parallelism"] = 1
    if "backoffLimitPerIndex" in spec:
        spec.setdefault("backoffLimit", 2**31 - 1)  # each index has its own limit
    if "podFailurePolicy" in spec:
        spec.setdefault("podReplacementPolicy", "Failed")  # the policy applies to finished pods alone


def _default_controller(obj: Json) -> None:
    """Copy the labels of the template to a ReplicationController and its selector."""
    spec = obj.setdefault("spec", {})
    if labels := member(member(member(spec, "template"), "metadata"), "labels"):
        spec.setdefault("selector", dict(labels))
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)


def _default_service(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    for name in ("clusterIP", "externalName"):
        if spec.get(name) == "":
            del spec[name]
    kind = spec.setdefault("type", "ClusterIP")
    if spec.get("sessionAffinity", "None") == "None":
        spec.pop("sessionAffinityConfig", None)
    for port in objects_in(spec, "ports"):
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port")
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")


def _default_network_policy(obj: Json) -> None:
    spec = member(obj, "spec")
    if spec or "spec" in obj:
        egress = ["Egress"] if objects_in(spec, "egress") else []
        obj["spec"].setdefault("policyTypes", ["Ingress", *egress])


def _default_autoscaler(obj: Json) -> None:
    """Set the defaults of both directions of a behavior; without a behavior there are none."""
    annotations = member(obj["metadata"], "annotations")
    if obj.get("apiVersion") == "autoscaling/v1" and _METRICS not in annotations:
        obj.setdefault("spec", {}).setdefault("targetCPUUtilizationPercentage", 80)
    behavior = member(obj, "spec").get("behavior")
    if behavior is None:
        return
    percent_policy = {"type": "Percent", "value": 100, "periodSeconds": 15}
    scale_up = behavior.setdefault("scaleUp", {})
    scale_up.setdefault("stabilizationWindowSeconds", 0)
    scale_up.setdefault("selectPolicy", "Max")
    scale_up.setdefault("policies", [{"type": "Pods", "value": 4, "periodSeconds": 15}, percent_policy])
    scale_down = behavior.setdefault("scaleDown", {})
    scale_down.setdefault("selectPolicy", "Max")
    scale_down.setdefault("policies", [dict(percent_policy)])


def _default_limit_range(obj: Json) -> None:
    if member(obj, "spec").get("limits") == []:
        del obj["spec"]["limits"]
    for item in objects_in(member(obj, "spec"), "limits"):
        if item.get("type") != "Container":
            continue
        if maximum := member(item, "max"):
            item["default"] = maximum | member(item, "default")
        if fallback := member(item, "default") or member(item, "min"):
            requests = member(item, "min") | member(item, "default") if "min" in item else fallback
            item["defaultRequest"] = requests | member(item, "defaultRequest")


def _default_binding(obj: Json) -> None:
    """Set the API group of subjects: users and groups have that of roles, service accounts none."""
    for subject in objects_in(obj, "subjects"):
        if not subject.get("apiGroup"):
            subject["apiGroup"] = (
                "rbac.authorization.k8s.io" if subject.get("kind") in ("User", "Group") else ""
            )


def _default_stateful_set(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("serviceName") == "":
        del spec["serviceName"]
    strategy = spec.setdefault("updateStrategy", {})
    # The field belongs to a feature that is off by default up to 1.36.
    member(strategy, "rollingUpdate").pop("maxUnavailable", None)
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    for claim in objects_in(spec, "volumeClaimTemplates"):
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def _default_daemon_set(obj: Json) -> None:
    obj["metadata"].setdefault("annotations", {}).setdefault(TEMPLATE_GENERATION, "1")


def _default_endpoints(obj: Json) -> None:
    for subset in objects_in(obj, "subsets"):
        for port in objects_in(subset, "ports"):
            port.setdefault("protocol", "TCP")


def _default_webhooks(obj: Json) -> None:
    for webhook in objects_in(obj, "webhooks"):
        for rule in objects_in(webhook, "rules"):
            rule.setdefault("scope", "*")


def _default_resource_claim(obj: Json) -> None:
    """Remove counts of zero devices, for which a server sets the default."""
    spec = member(obj, "spec")
    for request in objects_in(member(member(spec, "spec") or spec, "devices"), "requests"):
        for device_request in (member(request, "exactly"), *objects_in(request, "firstAvailable")):
            if device_request.get("count") == 0:
                del device_request["count"]


def _default_node(obj: Json) -> None:
    status = member(obj, "status")
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


def _default_namespace(obj: Json) -> None:
    meta = obj["metadata"]
    if member(obj, "spec").get("finalizers") == []:
        del obj["spec"]["finalizers"]
    meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta.get("name", "")


def _default_secret(obj: Json) -> None:
    obj.setdefault("type", "Opaque")
    string_data = member(obj, "stringData")
    obj.pop("stringData", None)
    for key, value in string_data.items():
        obj.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()


def _default_definition(obj: Json) -> None:
    names = obj.setdefault("spec", {}).setdefault("names", {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    obj["spec"].setdefault("conversion", {}).setdefault("strategy", "None")


def _qos_class(obj: Json) -> str:
    resources = [member(container, "resources") for container in objects_in(obj["spec"], "containers")]
    if not any(container.get("requests") or container.get("limits") for container in resources):
        return "BestEffort"
    has_all_limits = all({"cpu", "memory"} <= member(container, "limits").keys() for container in resources)
    requests_equal_limits = all(
        (container.get("requests") or container.get("limits")) == container.get("limits")
        for container in resources
    )
    return "Guaranteed" if has_all_limits and requests_equal_limits else "Burstable"


_COMPUTED_DEFAULTS: Final[dict[str, Callable[[Json], None]]] = {
    "jobs.batch": _default_job,
    "statefulsets.apps": _default_stateful_set,
    "daemonsets.apps": _default_daemon_set,
    "rolebindings.rbac.authorization.k8s.io": _default_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _default_binding,
    "services": _default_service,
    "namespaces": _default_namespace,
    "nodes": _default_node,
    "endpoints": _default_endpoints,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _default_webhooks,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _default_webhooks,
    "resourceclaims.resource.k8s.io": _default_resource_claim,
    "resourceclaimtemplates.resource.k8s.io": _default_resource_claim,
    "secrets": _default_secret,
    "limitranges": _default_limit_range,
    "replicationcontrollers": _default_controller,
    "networkpolicies.networking.k8s.io": _default_network_policy,
    "horizontalpodautoscalers.autoscaling": _default_autoscaler,
    "customresourcedefinitions.apiextensions.k8s.io": _default_definition,
}
