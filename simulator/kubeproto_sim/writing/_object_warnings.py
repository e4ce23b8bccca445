"""Warnings of a server about valid objects: deprecated fields, duplicates and values without effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kubeproto.objects import Quantity

from ..kinds._kind_defaults import POD_SPECS
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in, quoted

Json = dict[str, Any]
Warnings = Iterator[str]
_BYTES: Final = ("memory", "ephemeral-storage", "storage")
# Labels of nodes with the release that deprecated them, and the labels to use.
_NODE_LABELS: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
}
_VOLUMES: Final = {
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_POD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": ("non-functional in v1.16+", "priorityClassName"),
    "security.alpha.kubernetes.io/sysctls": ("non-functional in v1.11+", "sysctls"),
    "security.alpha.kubernetes.io/unsafe-sysctls": ("non-functional in v1.11+", "sysctls"),
    "seccomp.security.alpha.kubernetes.io/pod": ("non-functional in v1.27+", "seccompProfile"),
}
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
# Kinds whose names become parts of the names and host names of their pods.
_NAMING_KINDS: Final = (
    "pods", "deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps",
    "replicationcontrollers", "jobs.batch", "cronjobs.batch",
)  # fmt: skip


def object_warnings(served: ServedKind, obj: Json, old: Json | None) -> Warnings:
    """Yield the warnings about a new object, or about a new spec."""
    if served.custom or (old is not None and old.get("spec") == obj.get("spec")):
        return
    if served.full_name in _NAMING_KINDS and old is None and "." in obj["metadata"]["name"]:
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising"
            " behavior; a DNS label is recommended: [must not contain dots]"
        )
    if (spec_path := POD_SPECS.get(served.full_name)) is not None:
        holder = obj
        for name in spec_path[:-1]:
            holder = member(holder, name)
        yield from _pod(holder, "".join(f"{name}." for name in spec_path[:-1]))
    if (warn := _KINDS.get(served.full_name)) is not None:
        yield from warn(obj)


def _pod(pod: Json, prefix: str) -> Warnings:
    """Yield the warnings about a pod or a template, whose fields are named with a prefix."""
    spec, path = member(pod, "spec"), f"{prefix}spec"
    yield from _node_labels(member(spec, "nodeSelector"), f"{path}.nodeSelector")
    yield from _annotations(member(member(pod, "metadata"), "annotations"), f"{prefix}metadata.annotations")
    yield from _null_selectors(spec, path)
    for index, volume in enumerate(objects_in(spec, "volumes")):
        for name in volume.keys() & _VOLUMES.keys():
            field = "storageOS" if name == "storageos" else name
            yield f"{path}.volumes[{index}].{field}: {_VOLUMES[name]}"
    names: set[str] = set()
    for index, secret in enumerate(objects_in(spec, "imagePullSecrets")):
        name = secret.get("name") or ""
        if not name:
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
        elif name in names:
            yield f"{path}.imagePullSecrets[{index}].name: duplicate name {quoted(name)}"
        names.add(name)
    addresses: set[str] = set()
    for index, alias in enumerate(objects_in(spec, "hostAliases")):
        if (address := alias.get("ip", "")) in addresses:
            yield f"{path}.hostAliases[{index}].ip: duplicate ip {quoted(address)}"
        addresses.add(address)
    if prefix and (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {text}"
    yield from _fractions(member(spec, "overhead"), f"{path}.overhead")
    for field in ("initContainers", "containers"):
        for index, container in enumerate(objects_in(spec, field)):
            yield from _container(container, f"{path}.{field}[{index}]")


def _container(container: Json, path: str) -> Warnings:
    for name in ("memory", "ephemeral-storage"):
        for kind in ("limits", "requests"):
            amounts = member(member(container, "resources"), kind)
            amount: Json = {name: amounts[name]} if name in amounts else {}
            yield from _fractions(amount, f"{path}.resources.{kind}")
    values: dict[str, str] = {}
    for index, variable in enumerate(objects_in(container, "env")):
        name, value = variable.get("name", ""), variable.get("value") or ""
        if name in values and f"$({name})" not in value:
            yield (
                f"{path}.env[{index}]: hides previous definition of {quoted(name)}, which may be dropped when"
                " using apply"
            )
        values[name] = value
    port_paths: dict[tuple[Any, ...], str] = {}
    for index, port in enumerate(objects_in(container, "ports")):
        port_path = f"{path}.ports[{index}]"
        number, protocol = port.get("containerPort", 0), port.get("protocol", "TCP")
        if port.get("hostIP") and not port.get("hostPort"):
            yield (
                f"{port_path}: hostIP set without hostPort: {{Name:{port.get('name', '')} HostPort:0"
                f" ContainerPort:{number} Protocol:{protocol} HostIP:{port['hostIP']}}}"
            )
        key = (number, protocol, port.get("hostPort"), port.get("hostIP"))
        if key in port_paths:
            yield f"{port_path}: duplicate port definition with {port_paths[key]}"
        port_paths.setdefault(key, port_path)


def _fractions(amounts: Json, path: str) -> Warnings:
    for name, amount in sorted(amounts.items()):
        if name in _BYTES and Quantity(amount).to_millis() % 1000:
            yield f"{path}[{name}]: fractional byte value {quoted(amount)} is invalid, must be an integer"


def _node_labels(labels: Json, path: str) -> Warnings:
    for label in sorted(labels.keys() & _NODE_LABELS.keys()):
        release, replacement = _NODE_LABELS[label]
        yield f'{path}[{label}]: deprecated since {release}; use "{replacement}" instead'


def _annotations(annotations: Json, path: str) -> Warnings:
    for name in annotations:
        if name in _POD_ANNOTATIONS:
            problem, field = _POD_ANNOTATIONS[name]
            yield f'{path}[{name}]: {problem}; use the "{field}" field instead'
        elif name.startswith(_APP_ARMOR):
            yield f'{path}[{name}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _null_selectors(spec: Json, path: str) -> Warnings:
    text = "labelSelector: a null labelSelector results in matching no pod"
    affinity = member(spec, "affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = member(affinity, kind)
        required, preferred = (
            f"{mode}DuringSchedulingIgnoredDuringExecution" for mode in ("required", "preferred")
        )
        for index, term in enumerate(objects_in(terms, required)):
            if term.get("labelSelector") is None:
                yield f"{path}.affinity.{kind}.{required}[{index}].{text}"
        for index, weighted in enumerate(objects_in(terms, preferred)):
            if member(weighted, "podAffinityTerm").get("labelSelector") is None:
                yield f"{path}.affinity.{kind}.{preferred}[{index}].podAffinityTerm.{text}"
    for index, constraint in enumerate(objects_in(spec, "topologySpreadConstraints")):
        if constraint.get("labelSelector") is None:
            yield f"{path}.topologySpreadConstraints[{index}].{text}"


def _service(obj: Json) -> Warnings:
    if member(obj, "spec").get("externalIPs"):
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"


def _ingress(obj: Json) -> Warnings:
    if "kubernetes.io/ingress.class" in member(obj["metadata"], "annotations"):
        yield (
            'annotation "kubernetes.io/ingress.class" is deprecated, please use'
            " 'spec.ingressClassName' instead"
        )


def _storage(obj: Json) -> Warnings:
    if _STORAGE_CLASS in member(obj["metadata"], "annotations"):
        yield (
            f'metadata.annotations[{_STORAGE_CLASS}]: deprecated since v1.8; use "storageClassName" attribute'
            " instead"
        )
    requests = member(member(member(obj, "spec"), "resources"), "requests")
    yield from _fractions(requests, "spec.resources.requests")


def _storage_class(obj: Json) -> Warnings:
    for index, term in enumerate(objects_in(obj, "allowedTopologies")):
        for number, expression in enumerate(objects_in(term, "matchLabelExpressions")):
            if (label := expression.get("key", "")) in _NODE_LABELS:
                release, replacement = _NODE_LABELS[label]
                path = f"allowedTopologies[{index}].matchLabelExpressions[{number}].key"
                yield f'{path}: deprecated since {release}; use "{replacement}" instead'


_KINDS: Final[dict[str, Callable[[Json], Warnings]]] = {
    "services": _service,
    "ingresses.networking.k8s.io": _ingress,
    "persistentvolumes": _storage,
    "persistentvolumeclaims": _storage,
    "storageclasses.storage.k8s.io": _storage_class,
}
