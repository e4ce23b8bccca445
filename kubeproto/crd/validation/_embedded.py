"""Objects inside objects: `x-kubernetes-embedded-resource` in a schema requires a whole object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ...objects import (
    ObjectMeta,
    dns_1035_label_errors,
    is_list,
    is_object,
    label_value_errors,
    qualified_name_errors,
    without_nulls,
)
from .._violations import Violation, child, invalid, key, required


def embedded(schema: Any, value: Any, path: str = "") -> Iterator[Violation]:
    """Return what is missing in the identity of embedded objects anywhere below."""
    if not is_object(schema):
        return
    if is_object(value):
        if schema.get("x-kubernetes-embedded-resource"):
            yield from _identity(value, path)
        known: dict[str, Any] = schema.get("properties", {})
        for name, below in value.items():
            if name in known:
                yield from embedded(known[name], below, child(path, name))
            else:
                yield from embedded(schema.get("additionalProperties"), below, key(path, name))
    elif is_list(value):
        for index, element in enumerate(value):
            yield from embedded(schema.get("items"), element, key(path, index))


def _identity(value: dict[str, Any], path: str) -> Iterator[Violation]:
    for name in ("apiVersion", "kind"):
        text, where = value.get(name), child(path, name)
        if name not in value:
            yield required(where)
        elif not isinstance(text, str):
            yield invalid(where, text, "must be a string")
        elif not text:
            yield invalid(where, text, "must not be empty")
        elif name == "kind":
            for error in dns_1035_label_errors(text.lower()):
                yield invalid(where, text, f"may have mixed case, but should otherwise match: {error}")
        elif text.count("/") > 1:
            yield invalid(where, text, f"unexpected GroupVersion string: {text}")
    metadata, where = value.get("metadata"), child(path, "metadata")
    if metadata is None:
        return
    read = without_nulls(metadata)
    try:
        msgspec.convert(read, ObjectMeta)
    except msgspec.ValidationError as error:
        yield invalid(where, metadata, f"must be metadata of an object: {error}")
    else:
        yield from _metadata(read, where)


def _metadata(metadata: dict[str, Any], path: str) -> Iterator[Violation]:
    """Return what is wrong with metadata of the right types. Any name that a path can hold is allowed."""
    if base := metadata.get("generateName"):
        for fault in _segment_faults(base):
            yield invalid(child(path, "generateName"), base, fault)
    if name := metadata.get("name"):
        dotted = (f"may not be '{name}'",) if name in (".", "..") else ()
        for fault in dotted or _segment_faults(name):
            yield invalid(child(path, "name"), name, fault)
    labels: dict[str, Any] = metadata.get("labels") or {}
    for label, value in labels.items():
        yield from (invalid(child(path, "labels"), label, fault) for fault in qualified_name_errors(label))
        yield from (invalid(child(path, "labels"), value, fault) for fault in label_value_errors(value or ""))
    for annotation in metadata.get("annotations") or ():
        faults = qualified_name_errors(annotation.lower())
        yield from (invalid(child(path, "annotations"), annotation, fault) for fault in faults)


def _segment_faults(name: str) -> tuple[str, ...]:
    return tuple(f"may not contain '{sign}'" for sign in "/%" if sign in name)
