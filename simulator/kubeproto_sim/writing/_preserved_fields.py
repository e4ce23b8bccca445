"""Fields that a write cannot change: the server restores some, and rejects changes of others; generations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.objects import json_equal

from ..kinds._kind_defaults import TEMPLATE_GENERATION, fill_in
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in, strings_in
from ..writing import _job_rules
from ._admission_plugins import preserve_admitted
from ._certificate_requests import CERTIFICATE_REQUESTS, preserve_request
from ._definition_rules import DEFINITIONS
from ._pod_writes import POD_PARTS, with_part
from ._service_allocation import allocate, check_addresses, preserve_allocated

# Subresources that write the status only.
STATUS: Final = ("status", "approval")
_SERVER_FIELDS: Final = (
    "uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip
# Metadata that a write of the status does not change (tried on a 1.36 server, kind by kind).
_NOT_WITH_STATUS: Final = {"deployments.apps": ("labels",), "pods": ("ownerReferences",)}
# The spec of a custom resource is every field that is not one of these.
_NOT_COUNTED: Final = ("metadata", "apiVersion")


def preserve_fields(
    served: ServedKind, subresource: str, previous: dict[str, Any], obj: dict[str, Any], stamp: str
) -> dict[str, Any]:
    """Return the new state of an object; fields that this subresource may not change are restored."""
    if served.full_name == CERTIFICATE_REQUESTS:
        obj = preserve_request(subresource, previous, obj, stamp)
    old, meta = previous["metadata"], obj["metadata"]
    if subresource in STATUS:
        return _with_status(served, previous, obj)
    if subresource in POD_PARTS:
        obj = with_part(subresource, previous, obj)
        meta = obj["metadata"]
    preserve_allocated(served, previous, obj)
    fill_in(served, obj)
    allocate(served, obj)
    if served.has_status:
        obj.pop("status", None)
        if "status" in previous:
            obj["status"] = previous["status"]
    if served.full_name == "pods":
        preserve_admitted(previous, obj)
    if served.full_name == "daemonsets.apps":
        _number_template(previous, obj)
    if served.full_name == DEFINITIONS:
        _record_storage_version(obj)
    if served.full_name == "namespaces" and subresource != "finalize":
        obj["spec"] = previous.get("spec", {})
    for field in _SERVER_FIELDS:
        if field in old:
            meta[field] = old[field]
        else:
            meta.pop(field, None)
    return obj


def _record_storage_version(obj: dict[str, Any]) -> None:
    """Add the storage version to the stored versions; objects of earlier versions may still be stored."""
    status: dict[str, Any] = dict(member(obj, "status"))
    stored = strings_in(status, "storedVersions")
    storage_versions = [
        version["name"] for version in objects_in(obj["spec"], "versions") if version.get("storage")
    ]
    status["storedVersions"] = [*stored, *(name for name in storage_versions if name not in stored)]
    obj["status"] = status


def _number_template(previous: dict[str, Any], obj: dict[str, Any]) -> None:
    """Number the template of a DaemonSet in an annotation, which was a field before apps/v1."""
    number_text = previous["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0")
    number = int(number_text) if number_text.isdecimal() else 0
    if previous["spec"].get("template") != obj["spec"].get("template"):
        number += 1
    obj["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(number)


def _with_status(served: ServedKind, previous: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    """Return the previous state with another status; of a built-in kind also with the new metadata.

    Controllers rely on that: the revision of a Deployment is an annotation that is written with the status.
    """
    old = previous["metadata"]
    merged = dict(previous)
    merged["metadata"] = dict(old)
    if not served.custom:
        merged["metadata"] = obj["metadata"] | {field: old[field] for field in _SERVER_FIELDS if field in old}
        for field in _NOT_WITH_STATUS.get(served.full_name, ()):
            merged["metadata"].pop(field, None)
            if field in old:
                merged["metadata"][field] = old[field]
    merged.pop("status", None)
    if "status" in obj:
        merged["status"] = obj["status"]
    return merged


def count_generation(served: ServedKind, previous: dict[str, Any], obj: dict[str, Any]) -> None:
    """Raise the generation if the spec has changed."""
    if served.custom:
        ignored = (*_NOT_COUNTED, "status") if served.has_status else _NOT_COUNTED
        changed = not json_equal(
            {name: value for name, value in previous.items() if name not in ignored},
            {name: value for name, value in obj.items() if name not in ignored},
        )
    else:
        changed = not json_equal(
            {name: value for name, value in previous.items() if name not in ("metadata", "status")},
            {name: value for name, value in obj.items() if name not in ("metadata", "status")},
        )
        if served.full_name == "deployments.apps":
            # Annotations of a Deployment count too: its controller copies them to the ReplicaSets.
            changed |= previous["metadata"].get("annotations") != obj["metadata"].get("annotations")
    if changed:
        obj["metadata"]["generation"] = previous["metadata"].get("generation", 0) + 1


_IMMUTABLE_SELECTOR: Final = ("deployments.apps", "replicasets.apps", "daemonsets.apps")
_IMMUTABLE_ROLE_REF: Final = (
    "rolebindings.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
)
_MUTABLE_OF_STATEFULSET: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def check_immutable_fields(
    served: ServedKind, previous: dict[str, Any], obj: dict[str, Any]
) -> list[Violation]:
    """Return the violations by changes of immutable fields."""
    old, new = member(previous, "spec"), member(obj, "spec")
    match served.full_name:
        case name if name in _IMMUTABLE_SELECTOR:
            if not json_equal(old.get("selector"), new.get("selector")):
                selector = new.get("selector")
                return [Violation("FieldValueInvalid", "spec.selector", selector, "field is immutable")]
        case name if name in _IMMUTABLE_ROLE_REF:
            if not json_equal(previous.get("roleRef"), obj.get("roleRef")):
                text = "cannot change roleRef"
                return [Violation("FieldValueInvalid", "roleRef", obj.get("roleRef"), text)]
        case "statefulsets.apps":
            if not json_equal(_immutable_part(old), _immutable_part(new)):
                text = "updates to statefulset spec for fields other than"
                names = ", ".join(f"'{field}'" for field in _MUTABLE_OF_STATEFULSET)
                return [Violation("FieldValueForbidden", "spec", detail=f"{text} {names} are forbidden")]
        case "jobs.batch":
            return list(_job_rules.check_immutable(previous, obj))
        case "priorityclasses.scheduling.k8s.io":
            return list(_check_priority(previous, obj))
        case "services":
            return list(check_addresses(old, new))
        case _:
            pass
    return []


def _check_priority(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Violation]:
    if old["value"] != new.get("value"):
        yield Violation("FieldValueForbidden", "value", detail="may not be changed in an update.")
    policy = new.get("preemptionPolicy")
    if old.get("preemptionPolicy") != policy:
        yield Violation("FieldValueInvalid", "preemptionPolicy", policy, "field is immutable")


def _immutable_part(spec: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in _MUTABLE_OF_STATEFULSET}
