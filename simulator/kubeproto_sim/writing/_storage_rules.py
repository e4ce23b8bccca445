"""The checks of a server on claims, volumes, quotas and limits."""

from __future__ import annotations

from typing import Final

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import listed, member, texts
from ._pod_rules import Found, Json, duplicate, forbidden, invalid, number, required, unsupported

_ACCESS: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_QUOTAS: Final = frozenset((
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu",
    "limits.memory", "requests.storage", "services.nodeports", "services.loadbalancers",
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
))  # fmt: skip
_WHOLE: Final = _QUOTAS - {
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "requests.storage",
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
}  # fmt: skip
_OF_PODS: Final = frozenset((
    "pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
))  # fmt: skip
# The resources that a quota with a scope may limit.
_SCOPED: Final = {
    "BestEffort": frozenset(("pods",)),
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
_CONFLICTING: Final = (
    frozenset(("BestEffort", "NotBestEffort")),
    frozenset(("Terminating", "NotTerminating")),
)
_SCOPES: Final = (
    "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass",
)  # fmt: skip


def claim(obj: Json) -> Found:
    """A PersistentVolumeClaim."""
    spec = member(obj, "spec")
    for one in texts(spec, "accessModes"):
        if one not in _ACCESS:
            yield unsupported("spec.accessModes", one, _ACCESS)
    storage = member(member(spec, "resources"), "requests").get("storage")
    if storage is None:
        yield required("spec.resources[storage]")
    elif number(storage) <= 0:
        yield invalid("spec.resources[storage]", storage, "must be greater than zero")


def volume(obj: Json) -> Found:
    """A PersistentVolume."""
    spec = member(obj, "spec")
    for one in texts(spec, "accessModes"):
        if one not in _ACCESS:
            yield unsupported("spec.accessModes", one, _ACCESS)
    if not spec.get("capacity"):
        yield required("spec.capacity")
    elif number(spec["capacity"].get("storage", 0)) < 0:
        yield invalid("spec.capacity[storage]", spec["capacity"]["storage"], "must be greater than zero")
    sources = [name for name in spec if name in _SOURCES]
    if not sources:
        yield required("spec", "must specify a volume type")
    for extra in sorted(sources)[1:]:
        yield forbidden(f"spec.{extra}", "may not specify more than 1 volume type")
    if ".." in member(spec, "hostPath").get("path", "").split("/"):
        yield invalid("spec.hostPath.path", spec["hostPath"]["path"], "must not contain '..'")


_SOURCES: Final = frozenset((
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume",
    "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs",
    "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
))  # fmt: skip


def storage_class(obj: Json) -> Found:
    """A StorageClass."""
    if "" in member(obj, "parameters"):
        yield invalid("parameters", "", "field can not be empty.")


def quota(obj: Json) -> Found:
    """A ResourceQuota."""
    spec = member(obj, "spec")
    for name, value in member(spec, "hard").items():
        plain = name in _QUOTAS or ("/" in name and FORMATS["qualified"](name))
        if not plain and "/" not in name:
            yield invalid(f"spec.hard[{name}]", name, "must be a standard resource type or fully qualified")
        if not plain:
            yield invalid(f"spec.hard[{name}]", name, "must be a standard resource for quota")
        if number(value) < 0:
            yield invalid(f"spec.hard[{name}]", str(value), "must be greater than or equal to 0")
        if name in _WHOLE and number(value) % 1:
            yield invalid(f"spec.hard[{name}]", str(value), "must be an integer")
    scopes = texts(spec, "scopes")
    for one in scopes:
        if one not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        elif (_QUOTAS & member(spec, "hard").keys()) - _SCOPED.get(one, _OF_PODS):
            yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    if any(both <= {*scopes} for both in _CONFLICTING):
        yield invalid("spec.scopes", scopes, "conflicting scopes")


def limits(obj: Json) -> Found:
    """A LimitRange."""
    seen: set[str] = set()
    for at, item in enumerate(listed(member(obj, "spec"), "limits")):
        where, kind = f"spec.limits[{at}]", item.get("type", "")
        if not kind:
            yield invalid(f"{where}.type", kind, "name part must be non-empty")
        if kind in seen:
            yield duplicate(f"{where}.type", kind)
        seen.add(kind)
        if kind == "Pod":
            for part in ("default", "defaultRequest"):
                if item.get(part):
                    yield forbidden(f"{where}.{part}", "may not be specified when `type` is 'Pod'")
            item = {name: held for name, held in item.items() if name not in ("default", "defaultRequest")}
        bounds = {part: member(item, part) for part in ("min", "defaultRequest", "default", "max")}
        for name in sorted({one for part in bounds.values() for one in part}):
            low, asked, usual, high = (
                number(part[name]) if name in part else None for part in bounds.values()
            )
            for part, value, above in (
                ("min", low, high), ("defaultRequest", asked, high), ("default", usual, high),
                ("defaultRequest", asked, usual),
            ):  # fmt: skip
                if value is not None and above is not None and value > above:
                    yield invalid(f"{where}.{part}[{name}]", str(value), "is greater than the limit")
            for part, value in (("default", usual), ("defaultRequest", asked)):
                if low is not None and value is not None and low > value:
                    yield invalid(f"{where}.{part}[{name}]", str(value), "is less than min value")
