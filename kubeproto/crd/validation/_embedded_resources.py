"""Embedded resources: `x-kubernetes-embedded-resource` in a schema requires a complete object."""

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


def check_embedded(schema: Any, value: Any, path: str = "") -> Iterator[Violation]:
    """Yield the violations in `apiVersion`, `kind` and `metadata` of embedded objects, at any depth."""
    if not is_object(schema):
        return
    if is_object(value):
        if schema.get("x-kubernetes-embedded-resource"):
            yield from _check_identity(value, path)
        properties: dict[str, Any] = schema.get("properties", {})
        for name, member in value.items():
            if name in properties:
                yield from check_embedded(properties[name], member, child(path, name))
            else:
                yield from check_embedded(schema.get("additionalProperties"), member, key(path, name))
    elif is_list(value):
        for index, element in enumerate(value):
            yield from check_embedded(schema.get("items"), element, key(path, index))


def _check_identity(value: dict[str, Any], path: str) -> Iterator[Violation]:
    for name in ("apiVersion", "kind"):
        text, field = value.get(name), child(path, name)
        if name not in value:
            yield required(field)
        elif not isinstance(text, str):
            yield invalid(field, text, "must be a string")
        elif not text:
            yield invalid(field, text, "must not be empty")
        elif name == "kind":
            for error in dns_1035_label_errors(text.lower()):
                yield invalid(field, text, f"may have mixed case, but should otherwise match: {error}")
        elif text.count("/") > 1:
            yield invalid(field, text, f"unexpected GroupVersion string: {text}")
    metadata, field = value.get("metadata"), child(path, "metadata")
    if metadata is None:
        return
    non_null = without_nulls(metadata)
    try:
        msgspec.convert(non_null, ObjectMeta)
    except msgspec.ValidationError as error:
        yield invalid(field, metadata, f"must be metadata of an object: {error}")
    else:
        yield from _check_metadata(non_null, field)


def _check_metadata(metadata: dict[str, Any], path: str) -> Iterator[Violation]:
    """Yield the violations in metadata of the right types. Any name that fits into a path is allowed."""
    if base := metadata.get("generateName"):
        for error in _path_segment_errors(base):
            yield invalid(child(path, "generateName"), base, error)
    if name := metadata.get("name"):
        dots = (f"may not be '{name}'",) if name in (".", "..") else ()
        for error in dots or _path_segment_errors(name):
            yield invalid(child(path, "name"), name, error)
    labels: dict[str, Any] = metadata.get("labels") or {}
    for label, value in labels.items():
        yield from (invalid(child(path, "labels"), label, error) for error in qualified_name_errors(label))
        yield from (invalid(child(path, "labels"), value, error) for error in label_value_errors(value or ""))
    for annotation in metadata.get("annotations") or ():
        errors = qualified_name_errors(annotation.lower())
        yield from (invalid(child(path, "annotations"), annotation, error) for error in errors)


def _path_segment_errors(name: str) -> tuple[str, ...]:
    return tuple(f"may not contain '{char}'" for char in "/%" if char in name)
