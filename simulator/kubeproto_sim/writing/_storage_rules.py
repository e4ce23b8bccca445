"""The rules of claims, volumes, storage classes, quotas and limit ranges."""

from __future__ import annotations

from typing import Final

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import member, objects_in, strings_in
from ._rule_violations import Json, Violations, duplicate, forbidden, invalid, number, required, unsupported

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_QUOTA_NAMES: Final = frozenset((
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu",
    "limits.memory", "requests.storage", "services.nodeports", "services.loadbalancers",
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
))  # fmt: skip
_INTEGER_NAMES: Final = _QUOTA_NAMES - {
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "requests.storage",
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
}  # fmt: skip
_POD_NAMES: Final = frozenset((
    "pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
))  # fmt: skip
# The resources that a quota with a scope may limit.
_NAMES_BY_SCOPE: Final = {
    "BestEffort": frozenset(("pods",)),
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
}
_CONFLICTING_SCOPES: Final = (
    frozenset(("BestEffort", "NotBestEffort")),
    frozenset(("Terminating", "NotTerminating")),
)
_SCOPES: Final = (
    "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass",
)  # fmt: skip


def check_claim(obj: Json) -> Violations:
    """Check a PersistentVolumeClaim."""
    spec = member(obj, "spec")
    for mode in strings_in(spec, "accessModes"):
        if mode not in _ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, _ACCESS_MODES)
    storage = member(member(spec, "resources"), "requests").get("storage")
    if storage is None:
        yield required("spec.resources[storage]")
    elif number(storage) <= 0:
        yield invalid("spec.resources[storage]", storage, "must be greater than zero")


def check_volume(obj: Json) -> Violations:
    """Check a PersistentVolume."""
    spec = member(obj, "spec")
    for mode in strings_in(spec, "accessModes"):
        if mode not in _ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, _ACCESS_MODES)
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


def check_storage_class(obj: Json) -> Violations:
    """Check a StorageClass."""
    if "" in member(obj, "parameters"):
        yield invalid("parameters", "", "field can not be empty.")


def check_quota(obj: Json) -> Violations:
    """Check a ResourceQuota."""
    spec = member(obj, "spec")
    for name, value in member(spec, "hard").items():
        is_valid = name in _QUOTA_NAMES or ("/" in name and FORMATS["qualified"](name))
        if not is_valid and "/" not in name:
            yield invalid(f"spec.hard[{name}]", name, "must be a standard resource type or fully qualified")
        if not is_valid:
            yield invalid(f"spec.hard[{name}]", name, "must be a standard resource for quota")
        if number(value) < 0:
            yield invalid(f"spec.hard[{name}]", str(value), "must be greater than or equal to 0")
        if name in _INTEGER_NAMES and number(value) % 1:
            yield invalid(f"spec.hard[{name}]", str(value), "must be an integer")
    scopes = strings_in(spec, "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        elif (_QUOTA_NAMES & member(spec, "hard").keys()) - _NAMES_BY_SCOPE.get(scope, _POD_NAMES):
            yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    if any(pair <= {*scopes} for pair in _CONFLICTING_SCOPES):
        yield invalid("spec.scopes", scopes, "conflicting scopes")


def check_limit_range(obj: Json) -> Violations:
    """Check a LimitRange."""
    types: set[str] = set()
    for index, item in enumerate(objects_in(member(obj, "spec"), "limits")):
        path, type_ = f"spec.limits[{index}]", item.get("type", "")
        if not type_:
            yield invalid(f"{path}.type", type_, "name part must be non-empty")
        if type_ in types:
            yield duplicate(f"{path}.type", type_)
        types.add(type_)
        if type_ == "Pod":
            for field in ("default", "defaultRequest"):
                if item.get(field):
                    yield forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
            item = {
                name: item_value
                for name, item_value in item.items()
                if name not in ("default", "defaultRequest")
            }
        bounds = {field: member(item, field) for field in ("min", "defaultRequest", "default", "max")}
        for name in sorted({resource for field in bounds.values() for resource in field}):
            minimum, default_request, default, maximum = (
                number(field[name]) if name in field else None for field in bounds.values()
            )
            for field, value, limit in (
                ("min", minimum, maximum), ("defaultRequest", default_request, maximum),
                ("default", default, maximum), ("defaultRequest", default_request, default),
            ):  # fmt: skip
                if value is not None and limit is not None and value > limit:
                    yield invalid(f"{path}.{field}[{name}]", str(value), "is greater than the limit")
            for field, value in (("default", default), ("defaultRequest", default_request)):
                if minimum is not None and value is not None and minimum > value:
                    yield invalid(f"{path}.{field}[{name}]", str(value), "is less than min value")
