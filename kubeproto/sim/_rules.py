"""What every object must keep to: names, labels, finalizers, owners; and what specs require."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Final

from ..crd import Violation
from ..kinds import table
from ..objects import check_annotation_key, check_finalizer, check_label_key, check_label_value
from ._apply_values import is_map
from ._kinds import Served
from ._parts import listed, member, texts

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
    " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_KEY_TEXT: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
    " for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_LABEL_NAMES: Final = frozenset(("namespaces", "services"))
_TEMPLATED: Final = ("deployments.apps", "replicasets.apps", "daemonsets.apps", "statefulsets.apps")
_ANNOTATIONS_LIMIT: Final = 256 * 1024
_DATA_LIMIT: Final = 1024 * 1024


def check_meta(served: Served, meta: dict[str, Any]) -> list[Violation]:
    """What is wrong with the metadata of an object."""
    found: list[Violation] = []
    name: str = meta.get("name", "")
    if wrong := _name_fault(served, name):
        found.append(Violation("FieldValueInvalid", "metadata.name", name, wrong))
    if base := meta.get("generateName"):
        # A dash at the end is what the suffix comes after.
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
    """What a built-in kind requires of its spec, as far as the table of kinds knows it, and data's size."""
    found: list[Violation] = []
    if served.plural in ("configmaps", "secrets") and not served.group:
        found += _data_size(obj)
    if "spec" in table().types.get(served.type, _NOTHING).fields and _requires(served.type):
        found += _required(f"{served.type}", obj, "")
    if served.full_name in _TEMPLATED:
        found += _template(obj, found)
    return found


_NOTHING: Final = table().types["meta_v1.ObjectMeta"]


def new_finalizers(old: dict[str, Any], new: dict[str, Any]) -> list[Violation]:
    """An object that is being deleted takes no finalizers any more."""
    added = [one for one in texts(new, "finalizers") if one not in texts(old, "finalizers")]
    if not added or not old.get("deletionTimestamp"):
        return []
    shown = ", ".join(f'"{one}"' for one in added)
    text = (
        "no new finalizers can be added if the object is being deleted,"
        f" found new finalizers []string{{{shown}}}"
    )
    return [Violation("FieldValueForbidden", "metadata.finalizers", detail=text)]


@lru_cache(maxsize=4096)
def _is_name(name: str) -> bool:
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def _name_fault(served: Served, name: str) -> str:
    if served.group == "rbac.authorization.k8s.io":
        return "may not contain '/'" if "/" in name else "may not contain '%'" if "%" in name else ""
    if served.full_name in _LABEL_NAMES:
        if len(name) > 63:
            return "must be no more than 63 bytes"
        return "" if _LABEL.fullmatch(name) else _LABEL_TEXT
    if _is_name(name):
        return ""
    return "must be no more than 253 bytes" if len(name) > 253 else _SUBDOMAIN_TEXT


def _labels(labels: dict[str, str]) -> Iterator[Violation]:
    for key, value in labels.items():
        if not _passes(check_label_key, key):
            yield Violation("FieldValueInvalid", "metadata.labels", key, _KEY_TEXT)
        if not _passes(check_label_value, value):
            too_long = len(value) > 63
            text = "must be no more than 63 bytes" if too_long else _VALUE_TEXT
            yield Violation("FieldValueInvalid", "metadata.labels", value, text)


def _annotations(annotations: dict[str, str]) -> Iterator[Violation]:
    for key in annotations:
        if not _passes(check_annotation_key, key):
            yield Violation("FieldValueInvalid", "metadata.annotations", key, _KEY_TEXT)
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        text = f"may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield Violation("FieldValueTooLong", "metadata.annotations", detail=text)


def _finalizers(served: Served, finalizers: list[str]) -> Iterator[Violation]:
    for one in finalizers:
        if served.group != "apiextensions.k8s.io" and not served.custom and not _passes(check_finalizer, one):
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield Violation("FieldValueInvalid", "metadata.finalizers", one, text)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = (
            "finalizer orphan and foregroundDeletion are mutually exclusive"  # a delete asks for one policy
        )
        yield Violation("FieldValueInvalid", "metadata.finalizers", finalizers, text)


def _owners(owners: list[dict[str, Any]]) -> Iterator[Violation]:
    for at, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{at}]"
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield Violation(
                    "FieldValueInvalid", f"{path}.{field}", owner.get(field, ""), f"{field} must not be empty"
                )
        if owner.get("kind") == "Event":
            text = f"{owner.get('apiVersion')} is disallowed from being an owner"
            yield Violation("FieldValueInvalid", f"{path}", owner, text)
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


def _data_size(obj: dict[str, Any]) -> Iterator[Violation]:
    data: dict[str, str] = {**obj.get("data", {}), **obj.get("binaryData", {})}
    if sum(len(value) for value in data.values()) > _DATA_LIMIT:
        text = f"may not be more than {_DATA_LIMIT} bytes"
        yield Violation("FieldValueTooLong", "data" if obj.get("kind") == "Secret" else "", detail=text)


@cache
def _requires(type_: str) -> bool:
    """Whether anything in the spec of a type has to be there and has no default."""
    return bool(list(_required(type_, {"spec": {}}, "")))


def _required(type_: str, obj: dict[str, Any], path: str) -> Iterator[Violation]:
    """Fields that must be there, below what is there and what a server always has."""
    for name, field in table().types[type_].fields.items():
        if not path and name != "spec":
            continue
        value: Any = obj.get(name)
        where = f"{path}{name}"
        if field.required and field.default is None and not value and (field.form or "." in field.type):
            yield Violation("FieldValueRequired", where)
        elif "." not in field.type or (value is None and field.default != {}):
            continue
        elif not field.form:
            yield from _required(field.type, member(obj, name), f"{where}.")
        elif field.form == ("list",):
            for at, element in enumerate(listed(obj, name)):
                if is_map(element):
                    yield from _required(field.type, element, f"{where}[{at}].")


def _template(obj: dict[str, Any], found: list[Violation]) -> list[Violation]:
    """A workload's selector selects the pods of its template. It stands after the selector's own faults."""
    spec: dict[str, Any] = obj.get("spec", {})
    labels = spec.get("template", {}).get("metadata", {}).get("labels")
    wanted = member(member(spec, "selector"), "matchLabels")
    if spec.get("selector") and wanted.items() <= (labels or {}).items():
        return []
    fault = Violation(
        "FieldValueInvalid",
        "spec.template.metadata.labels",
        labels,
        "`selector` does not match template `labels`",
    )
    at = 1 if found and found[0].field == "spec.selector" else 0
    found.insert(at, fault)
    return []
