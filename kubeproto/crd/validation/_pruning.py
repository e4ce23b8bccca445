"""Pruning: fields that a schema does not name are dropped, unless it preserves unknown fields.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...objects import ObjectMeta, is_list, is_object
from .._violations import child, key

_META: Final = ("apiVersion", "kind", "metadata")
_KNOWN: Final = frozenset(field.encode_name for field in msgspec.structs.fields(ObjectMeta))
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


def prune(schema: dict[str, Any], obj: Any) -> list[str]:
    """Drop from an object, in place, what its schema does not name; return the paths of what was dropped."""
    dropped: list[str] = []
    _prune(schema | {"x-kubernetes-embedded-resource": True}, obj, "", dropped)
    return dropped


def _prune(schema: Any, value: Any, path: str, dropped: list[str]) -> None:
    keeps = schema is not None and schema.get(_PRESERVE, False)
    if is_object(value):
        _prune_members(schema or {}, value, path, dropped, keeps)
    elif is_list(value):
        items: dict[str, Any] | None = None if schema is None else schema.get("items")
        if keeps:
            if items is None:
                return
            # Below a list that keeps everything, elements keep everything too.
            items = items | {_PRESERVE: True}
        for index, element in enumerate(value):
            _prune(items, element, key(path, index), dropped)


def _prune_members(
    schema: dict[str, Any], value: dict[str, Any], path: str, dropped: list[str], keeps: bool
) -> None:
    known: dict[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name in list(value):
        if schema.get("x-kubernetes-embedded-resource") and name in _META:
            if path and name == "metadata":
                _prune_metadata(value, child(path, name), dropped)
            continue
        if name in known:
            _prune(known[name], value[name], child(path, name), dropped)
        elif is_object(others):
            _prune(others, value[name], child(path, name), dropped)
        elif others is True:
            _prune(None, value[name], child(path, name), dropped)
        elif not keeps:
            del value[name]
            dropped.append(child(path, name))


def _prune_metadata(value: dict[str, Any], path: str, dropped: list[str]) -> None:
    """Prune metadata inside an object: it is read by its type and written again, without what is empty."""
    metadata = value["metadata"]
    if not is_object(metadata):
        return
    try:
        msgspec.convert(metadata, ObjectMeta)
    except msgspec.ValidationError:
        return  # it is refused altogether
    for name in list(metadata):
        if name not in _KNOWN:
            dropped.append(child(path, name))
        if name not in _KNOWN or metadata[name] in (None, "", [], {}):
            del metadata[name]
