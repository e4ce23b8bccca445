"""The rules of the built-in kinds that programs write most: ConfigMaps, Secrets, Leases, Events, Pods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from kubeproto.crd import Violation

from ..storage._json_values import member, objects_in
from ._served_kinds import ServedKind

Rule = Callable[[dict[str, Any], dict[str, Any] | None], Iterator[Violation]]

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or"
    " 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_MAX_DATA: Final = 1024 * 1024
_IMMUTABLE_DATA: Final = "field is immutable when `immutable` is set"
_IMMUTABLE: Final = "field is immutable"
_REQUIRED_DATA: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
# Fields that may change in the spec of an existing pod.
_POD_CHANGES: Final = (
    "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "containers", "initContainers",
)  # fmt: skip
_POD_TEXT: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_kind(served: ServedKind, obj: dict[str, Any], old: dict[str, Any] | None) -> list[Violation]:
    """Return the violations of the rules of a kind by an object, or by its change."""
    rule = _RULES.get(served.full_name)
    return list(rule(obj, old)) if rule else []


def _check_config_map(obj: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Violation]:
    if old and old.get("immutable"):
        yield from _check_sealed(obj, old, "data", "binaryData")
    data, binary = member(obj, "data"), member(obj, "binaryData")
    for key in sorted(data):
        if not _is_key(key):
            yield Violation("FieldValueInvalid", f"data[{key}]", key, _KEY_TEXT)
        if key in binary:
            yield Violation(
                "FieldValueInvalid", f"data[{key}]", key, "duplicate of key present in binaryData"
            )
    for key in sorted(binary):
        if not _is_key(key):
            yield Violation("FieldValueInvalid", f"binaryData[{key}]", key, _KEY_TEXT)
    if _size({**data, **binary} if binary else data) > _MAX_DATA:
        yield _too_large("[]")  # a server prints this for the root


def _check_secret(obj: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Violation]:
    data = member(obj, "data")
    if old is not None:
        if obj.get("type") != old.get("type"):
            yield Violation("FieldValueInvalid", "type", obj.get("type"), _IMMUTABLE)
        if old.get("immutable"):
            yield from _check_sealed(obj, old, "data")
    for key in sorted(data):
        if not _is_key(key):
            yield Violation("FieldValueInvalid", f"data[{key}]", key, _KEY_TEXT)
    if _size(data) > _MAX_DATA:
        yield _too_large("data")
    for key in _REQUIRED_DATA.get(obj.get("type", ""), ()):
        if key not in data:
            yield Violation("FieldValueRequired", f"data[{key}]")


def _check_sealed(obj: dict[str, Any], old: dict[str, Any], *fields: str) -> Iterator[Violation]:
    if not obj.get("immutable"):
        yield Violation("FieldValueForbidden", "immutable", detail=_IMMUTABLE_DATA)
    for field in fields:
        if obj.get(field, {}) != old.get(field, {}):
            yield Violation("FieldValueForbidden", field, detail=_IMMUTABLE_DATA)


@lru_cache(maxsize=4096)
def _is_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None


def _size(data: dict[str, str]) -> int:
    return sum(map(len, data.values()))


def _too_large(field: str) -> Violation:
    return Violation("FieldValueTooLong", field, detail=f"may not be more than {_MAX_DATA} bytes")


def _check_lease(obj: dict[str, Any], _: dict[str, Any] | None) -> Iterator[Violation]:
    spec = member(obj, "spec")
    if (seconds := spec.get("leaseDurationSeconds")) is not None and seconds <= 0:
        yield Violation("FieldValueInvalid", "spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if (count := spec.get("leaseTransitions")) is not None and count < 0:
        text = "must be greater than or equal to 0"
        yield Violation("FieldValueInvalid", "spec.leaseTransitions", count, text)


def _check_event(obj: dict[str, Any], _: dict[str, Any] | None) -> Iterator[Violation]:
    object_namespace = member(obj, "involvedObject").get("namespace", "") or "default"
    if object_namespace != obj["metadata"].get("namespace"):
        sent_namespace = member(obj, "involvedObject").get("namespace", "")
        yield Violation(
            "FieldValueInvalid", "involvedObject.namespace", sent_namespace, "does not match event.namespace"
        )


def _check_pod(obj: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Violation]:
    if old is None:
        return
    new_spec, old_spec = member(obj, "spec"), member(old, "spec")
    for field in ("containers", "initContainers"):
        if len(objects_in(new_spec, field)) != len(objects_in(old_spec, field)):
            text = "pod updates may not add or remove containers"
            yield Violation("FieldValueForbidden", f"spec.{field}", detail=text)
            return
    if _immutable_fields(new_spec) != _immutable_fields(old_spec):
        yield Violation("FieldValueForbidden", "spec", detail=_POD_TEXT)


def _immutable_fields(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the immutable fields of a pod's spec."""
    immutable = {name: value for name, value in spec.items() if name not in _POD_CHANGES}
    for field in ("containers", "initContainers"):
        immutable[field] = [
            {name: value for name, value in container.items() if name != "image"}
            for container in objects_in(spec, field)
        ]
    return immutable


_RULES: Final[dict[str, Rule]] = {
    "configmaps": _check_config_map,
    "secrets": _check_secret,
    "leases.coordination.k8s.io": _check_lease,
    "events": _check_event,
    "pods": _check_pod,
}
