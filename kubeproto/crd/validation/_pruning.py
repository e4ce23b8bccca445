"""Pruning: fields that a schema does not specify are removed, unless it preserves unknown fields.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...objects import ObjectMeta, is_list, is_object
from .._violations import child, key

_META: Final = ("apiVersion", "kind", "metadata")
_METADATA_FIELDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(ObjectMeta))
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


def prune(schema: dict[str, Any], obj: Any) -> list[str]:
    """Remove the fields that a schema does not specify, in place; return their paths."""
    removed: list[str] = []
    _prune(schema | {"x-kubernetes-embedded-resource": True}, obj, "", removed)
    return removed


def _prune(schema: Any, value: Any, path: str, removed: list[str]) -> None:
    preserves = schema is not None and schema.get(_PRESERVE, False)
    if is_object(value):
        _prune_members(schema or {}, value, path, removed, preserves)
    elif is_list(value):
        items: dict[str, Any] | None = None if schema is None else schema.get("items")
        if preserves:
            if items is None:
                return
            # A list that preserves unknown fields also preserves those of its elements.
            items = items | {_PRESERVE: True}
        for index, element in enumerate(value):
            _prune(items, element, key(path, index), removed)


def _prune_members(
    schema: dict[str, Any], value: dict[str, Any], path: str, removed: list[str], preserves: bool
) -> None:
    properties: dict[str, Any] = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    for name in list(value):
        if schema.get("x-kubernetes-embedded-resource") and name in _META:
            if path and name == "metadata":
                _prune_metadata(value, child(path, name), removed)
            continue
        if name in properties:
            _prune(properties[name], value[name], child(path, name), removed)
        elif is_object(additional):
            _prune(additional, value[name], child(path, name), removed)
        elif additional is True:
            _prune(None, value[name], child(path, name), removed)
        elif not preserves:
            del value[name]
            removed.append(child(path, name))


def _prune_metadata(value: dict[str, Any], path: str, removed: list[str]) -> None:
    """Prune metadata of an embedded object: a server decodes its type and encodes it without empty fields."""
    metadata = value["metadata"]
    if not is_object(metadata):
        return
    try:
        msgspec.convert(metadata, ObjectMeta)
    except msgspec.ValidationError:
        return  # validation refuses it
    for name in list(metadata):
        if name not in _METADATA_FIELDS:
            removed.append(child(path, name))
        if name not in _METADATA_FIELDS or metadata[name] in (None, "", [], {}):
            del metadata[name]
