"""Rules for every object: names, labels, finalizers, owners; and what specs require."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Final

import msgspec

from kubeproto.crd import Violation
from kubeproto.objects import (
    Selector,
    check_finalizer,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)

from .._rejections import quoted
from ..kinds._builtin_rules import check_fields, ruled_fields
from ..kinds._kinds import Served
from ..storage._json_values import member, texts
from ._object_rules import check_object, ruled_as_whole

_LABEL_NAMES: Final = frozenset(("namespaces", "services"))
_TEMPLATED: Final = (
    "deployments.apps", "replicasets.apps", "daemonsets.apps", "statefulsets.apps", "jobs.batch",
)  # fmt: skip
# Kinds that accept a finalizer without a domain, without a warning.
_ANY_FINALIZER: Final = frozenset((
    "leases.coordination.k8s.io", "customresourcedefinitions.apiextensions.k8s.io", "events",
    "poddisruptionbudgets.policy", "runtimeclasses.node.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
))  # fmt: skip
# Kinds whose rules read metadata or status.
_READ_MORE: Final = frozenset(("cronjobs.batch", "customresourcedefinitions.apiextensions.k8s.io"))
_USUAL: Final = frozenset(("apiVersion", "kind", "metadata", "spec", "status"))
# Specs are remembered that have passed: each status is written with one, and many pods have the same.
_MOST_PASSED: Final = 1024
_LARGE: Final = 8192  # bytes of a spec that is not worth its memory
_encode: Final = msgspec.json.Encoder().encode
_ANNOTATIONS_LIMIT: Final = 256 * 1024
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
# Unlike the core's rule, these kinds answer a dot with the whole text.
_DNS_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
    " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def check_meta(served: Served, meta: dict[str, Any]) -> list[Violation]:
    """Return what is wrong with the metadata of an object."""
    found: list[Violation] = []
    name: str = meta.get("name", "")
    if not name:
        text = "name or generateName is required"
        found.append(Violation("FieldValueRequired", "metadata.name", detail=text))
    elif wrong := _name_fault(served, name):
        found.append(Violation("FieldValueInvalid", "metadata.name", name, wrong))
    if base := meta.get("generateName"):
        # A dash at the end is followed by the suffix.
        masked = base[:-1] + "a" if base.endswith("-") and len(base) > 1 else base
        if wrong := _name_fault(served, masked):
            found.append(Violation("FieldValueInvalid", "metadata.generateName", base, wrong))
    if labels := meta.get("labels"):
        found += _labels(labels)
    if annotations := meta.get("annotations"):
        found += _annotations(annotations)
    if finalizers := meta.get("finalizers"):
        found += _finalizers(served, finalizers)
    if owners := meta.get("ownerReferences"):
        found += _owners(owners)
    return found


def check_spec(served: Served, obj: dict[str, Any]) -> list[Violation]:
    """Return what is missing in the spec of a built-in kind, as far as the table of kinds knows."""
    if not _has_rules(served.type, served.full_name):
        return []
    spec = _only_spec(served, obj)
    if spec in served.passed:
        return []
    found: list[Violation] = []
    whole = check_object(served, obj)
    # A field that must be absent is not checked further.
    out = tuple(f"{one.field}." for one in whole if one.reason == "FieldValueForbidden")
    found += (one for one in check_fields(served.type, obj) if not one.field.startswith(out))
    found += whole
    if served.full_name in _TEMPLATED:
        found += _template(served, obj, found)
    if not found and 0 < len(spec) < _LARGE:
        if len(served.passed) >= _MOST_PASSED:
            served.passed.clear()
        served.passed.add(spec)
    return found


def _only_spec(served: Served, obj: dict[str, Any]) -> bytes:
    """Return the spec of an object whose rules read nothing else, as JSON; nothing for any other."""
    if served.full_name in _READ_MORE or not obj.keys() <= _USUAL:
        return b""
    return _encode(obj.get("spec"))


@cache
def _has_rules(type_: str, full_name: str) -> bool:
    """Return whether a kind has rules beyond those of its metadata and its kind."""
    return full_name in _TEMPLATED or ruled_as_whole(full_name) or bool(ruled_fields(type_))


def new_finalizers(old: dict[str, Any], new: dict[str, Any]) -> list[Violation]:
    """Return the fault of finalizers that are added to an object that is being deleted."""
    added = [one for one in texts(new, "finalizers") if one not in texts(old, "finalizers")]
    if not added or not old.get("deletionTimestamp"):
        return []
    shown = ", ".join(f'"{one}"' for one in added)
    text = (
        "no new finalizers can be added if the object is being deleted,"
        f" found new finalizers []string{{{shown}}}"
    )
    return [Violation("FieldValueForbidden", "metadata.finalizers", detail=text)]


def _name_fault(served: Served, name: str) -> str:
    if served.group == "rbac.authorization.k8s.io":
        return "may not contain '/'" if "/" in name else "may not contain '%'" if "%" in name else ""
    if served.full_name in _LABEL_NAMES:
        if len(name) > 63:
            return "must be no more than 63 characters"
        return "" if _DNS_LABEL.fullmatch(name) else _DNS_LABEL_TEXT
    if len(name) > 253:
        return "must be no more than 253 characters"
    return "".join(dns_subdomain_errors(name))


def _labels(labels: dict[str, str]) -> Iterator[Violation]:
    for key, value in labels.items():
        for fault in qualified_name_errors(key):
            yield Violation("FieldValueInvalid", "metadata.labels", key, fault)
        for fault in label_value_errors(value):
            yield Violation("FieldValueInvalid", "metadata.labels", value, fault)


def _annotations(annotations: dict[str, str]) -> Iterator[Violation]:
    for key in annotations:
        for fault in qualified_name_errors(key.lower()):
            yield Violation("FieldValueInvalid", "metadata.annotations", key, fault)
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        text = f"may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield Violation("FieldValueTooLong", "metadata.annotations", detail=text)


def _finalizers(served: Served, finalizers: list[str]) -> Iterator[Violation]:
    for at, one in enumerate(finalizers):
        if served.full_name not in _ANY_FINALIZER and not served.custom and not _passes(check_finalizer, one):
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield Violation("FieldValueInvalid", f"metadata.finalizers[{at}]", one, text)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = (
            "finalizer orphan and foregroundDeletion are mutually exclusive"  # a delete asks for one policy
        )
        yield Violation("FieldValueInvalid", "metadata.finalizers", finalizers, text)


def finalizer_warnings(old: dict[str, Any] | None, obj: dict[str, Any]) -> list[str]:
    """Return a server's warnings about new finalizers without a domain, which a custom resource may have."""
    before = texts(old["metadata"], "finalizers") if old else []
    return [
        f"metadata.finalizers: {quoted(one)}: prefer a domain-qualified finalizer name to avoid accidental"
        " conflicts with other finalizer writers"
        for one in sorted({*texts(obj["metadata"], "finalizers")} - {*before})
        if not _passes(check_finalizer, one)
    ]


def _owners(owners: list[dict[str, Any]]) -> Iterator[Violation]:
    path = "metadata.ownerReferences"  # a server does not say which of them it is
    for owner in owners:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                text = "version must not be empty" if field == "apiVersion" else "must not be empty"
                yield Violation("FieldValueInvalid", f"{path}.{field}", owner.get(field, ""), text)
        if owner.get("kind") == "Event":
            text = f"{owner.get('apiVersion')} is disallowed from being an owner"
            yield Violation("FieldValueInvalid", path, owner, text)
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        text = "Only one reference can have Controller set to true"
        yield Violation("FieldValueInvalid", "metadata.ownerReferences", owners, text)


@lru_cache(maxsize=8192)
def _passes(check: Any, text: str) -> bool:
    try:
        check(text)
    except ValueError:
        return False
    return True


def _template(served: Served, obj: dict[str, Any], found: list[Violation]) -> list[Violation]:
    """Return the fault of a selector that does not select its template's pods, after its other faults."""
    spec: dict[str, Any] = obj.get("spec", {})
    if served.full_name == "jobs.batch" and not (spec.get("manualSelector") or "selector" in spec):
        return []  # the server selects the pods itself
    labels = spec.get("template", {}).get("metadata", {}).get("labels")
    selected = member(spec, "selector")
    try:
        wanted = Selector.from_object(selected)
    except ValueError:
        return []  # a selector that is wrong is refused as such
    if "selector" in spec and (not wanted or wanted.matches(labels)):
        return []  # one that is empty is refused as such
    fault = Violation(
        "FieldValueInvalid",
        "spec.template.metadata.labels",
        labels,
        "`selector` does not match template `labels`",
    )
    at = 1 if found and found[0].field == "spec.selector" else 0
    found.insert(at, fault)
    return []
