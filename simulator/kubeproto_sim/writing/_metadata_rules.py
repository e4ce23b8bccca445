"""The rules of every object: names, labels, finalizers, owners; and the cached check of specs."""

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

from ..kinds._builtin_rules import check_fields, ruled_fields
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, quoted, strings_in
from ._rules_by_kind import check_kind_rules, has_kind_rules

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
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
))  # fmt: skip
# A StatefulSet sets the host name and the subdomain of its pods itself.
_UNCHECKED_FIELDS: Final = ("spec.template.spec.hostname", "spec.template.spec.subdomain")
# Kinds of which a server does not check `generateName` beside a name.
_ANY_GENERATE_NAME: Final = frozenset((
    "events", "events.events.k8s.io", "deviceclasses.resource.k8s.io", "poddisruptionbudgets.policy",
    "replicationcontrollers",
))  # fmt: skip
# Kinds whose rules read metadata or status too, so that an equal spec proves nothing.
_RULES_BEYOND_SPEC: Final = frozenset(("cronjobs.batch", "customresourcedefinitions.apiextensions.k8s.io"))
_USUAL_FIELDS: Final = frozenset(("apiVersion", "kind", "metadata", "spec", "status"))
# Valid specs are cached: each write of a status contains a spec, and many pods have equal ones.
_MAX_CACHED_SPECS: Final = 1024
_MAX_CACHED_SIZE: Final = 8192  # bytes of a spec
_encode: Final = msgspec.json.Encoder().encode
_MAX_ANNOTATIONS: Final = 256 * 1024
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
# Unlike in the core, a dot in the name of these kinds is reported with the full text.
_DNS_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
    " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def check_meta(served: ServedKind, meta: dict[str, Any]) -> list[Violation]:
    """Return the violations in the metadata of an object."""
    violations: list[Violation] = []
    name: str = meta.get("name", "")
    if not name:
        text = "name or generateName is required"
        violations.append(Violation("FieldValueRequired", "metadata.name", detail=text))
    else:
        violations += _name_violations(served, "metadata.name", name, name)
    if (prefix := meta.get("generateName")) and served.full_name not in _ANY_GENERATE_NAME:
        # A dash at the end is valid, because the suffix follows it.
        sample_name = prefix[:-1] + "a" if prefix.endswith("-") and len(prefix) > 1 else prefix
        violations += _name_violations(served, "metadata.generateName", prefix, sample_name)
    if labels := meta.get("labels"):
        violations += _labels(labels)
    if annotations := meta.get("annotations"):
        violations += _annotations(annotations)
    if finalizers := meta.get("finalizers"):
        violations += _finalizers(served, finalizers)
    if owners := meta.get("ownerReferences"):
        violations += _owners(owners)
    return violations


def check_spec(served: ServedKind, obj: dict[str, Any]) -> list[Violation]:
    """Return the violations in the spec of a built-in kind."""
    if not _has_rules(served.type, served.full_name):
        return []
    spec = _cache_key(served, obj)
    if spec in served.valid_specs:
        return []
    violations: list[Violation] = []
    kind_violations = check_kind_rules(served, obj)
    # The content of a forbidden field is not checked.
    forbidden_prefixes = tuple(
        f"{violation.field}." for violation in kind_violations if violation.reason == "FieldValueForbidden"
    )
    unchecked_fields = _UNCHECKED_FIELDS if served.full_name == "statefulsets.apps" else ()
    violations += (
        violation
        for violation in check_fields(served.type, obj)
        if not violation.field.startswith(forbidden_prefixes) and violation.field not in unchecked_fields
    )
    violations += kind_violations
    if served.full_name in _TEMPLATED:
        violations += _check_template_labels(served, obj, violations)
    if not violations and 0 < len(spec) < _MAX_CACHED_SIZE:
        if len(served.valid_specs) >= _MAX_CACHED_SPECS:
            served.valid_specs.clear()
        served.valid_specs.add(spec)
    return violations


def _cache_key(served: ServedKind, obj: dict[str, Any]) -> bytes:
    """Return the spec of an object as JSON if its rules read nothing else; empty otherwise."""
    if served.full_name in _RULES_BEYOND_SPEC or not obj.keys() <= _USUAL_FIELDS:
        return b""
    return _encode(obj.get("spec"))


@cache
def _has_rules(type_: str, full_name: str) -> bool:
    """Return whether a kind has rules for its spec."""
    return full_name in _TEMPLATED or has_kind_rules(full_name) or bool(ruled_fields(type_))


def new_finalizers(old: dict[str, Any], new: dict[str, Any]) -> list[Violation]:
    """Return the violation by finalizers that are added to an object that is being deleted."""
    added = [name for name in strings_in(new, "finalizers") if name not in strings_in(old, "finalizers")]
    if not added or not old.get("deletionTimestamp"):
        return []
    listed_names = ", ".join(f'"{name}"' for name in added)
    text = (
        "no new finalizers can be added if the object is being deleted,"
        f" found new finalizers []string{{{listed_names}}}"
    )
    return [Violation("FieldValueForbidden", "metadata.finalizers", detail=text)]


def _name_violations(served: ServedKind, field: str, value: str, name: str) -> list[Violation]:
    return [Violation("FieldValueInvalid", field, value, error) for error in _name_errors(served, name)]


def _name_errors(served: ServedKind, name: str) -> Iterator[str]:
    if served.group == "rbac.authorization.k8s.io":
        if "/" in name or "%" in name:
            yield "may not contain '/'" if "/" in name else "may not contain '%'"
        return
    is_label = served.full_name in _LABEL_NAMES
    # Bytes, whatever the message says: Go's `len` of a string.
    if len(name.encode()) > (max_length := 63 if is_label else 253):
        yield f"must be no more than {max_length} characters"
    if is_label:
        if not _DNS_LABEL.fullmatch(name):
            yield _DNS_LABEL_TEXT
    else:
        yield from (error for error in dns_subdomain_errors(name) if not error.startswith("must be no more"))


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
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        text = f"may not be more than {_MAX_ANNOTATIONS} bytes"
        yield Violation("FieldValueTooLong", "metadata.annotations", detail=text)


def _finalizers(served: ServedKind, finalizers: list[str]) -> Iterator[Violation]:
    for index, name in enumerate(finalizers):
        if (
            served.full_name not in _ANY_FINALIZER
            and not served.custom
            and not _passes(check_finalizer, name)
        ):
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield Violation("FieldValueInvalid", f"metadata.finalizers[{index}]", name, text)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = (
            "finalizer orphan and foregroundDeletion are mutually exclusive"  # a delete has a single policy
        )
        yield Violation("FieldValueInvalid", "metadata.finalizers", finalizers, text)


def finalizer_warnings(old: dict[str, Any] | None, obj: dict[str, Any]) -> list[str]:
    """Return the warnings about new finalizers of a custom resource without a domain."""
    previous = strings_in(old["metadata"], "finalizers") if old else []
    return [
        f"metadata.finalizers: {quoted(name)}: prefer a domain-qualified finalizer name to avoid accidental"
        " conflicts with other finalizer writers"
        for name in sorted({*strings_in(obj["metadata"], "finalizers")} - {*previous})
        if not _passes(check_finalizer, name)
    ]


def _owners(owners: list[dict[str, Any]]) -> Iterator[Violation]:
    path = "metadata.ownerReferences"  # a server reports no index
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


def _check_template_labels(
    served: ServedKind, obj: dict[str, Any], violations: list[Violation]
) -> list[Violation]:
    """Insert the violation of a selector that does not match its template, after its other violations."""
    spec: dict[str, Any] = obj.get("spec", {})
    if served.full_name == "jobs.batch" and not (spec.get("manualSelector") or "selector" in spec):
        return []  # the server selects the pods itself
    labels = spec.get("template", {}).get("metadata", {}).get("labels")
    selected = member(spec, "selector")
    try:
        selector = Selector.from_object(selected)
    except ValueError:
        return []  # an invalid selector is reported elsewhere
    if "selector" in spec and (not selector or selector.matches(labels)):
        return []  # an empty selector is reported elsewhere
    fault = Violation(
        "FieldValueInvalid",
        "spec.template.metadata.labels",
        labels,
        "`selector` does not match template `labels`",
    )
    index = 1 if violations and violations[0].field == "spec.selector" else 0
    violations.insert(index, fault)
    return []
