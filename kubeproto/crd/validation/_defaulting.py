"""Defaulting: missing fields are filled in; a null that is not allowed counts as missing.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable
"""

from __future__ import annotations

from typing import Any

from ...objects import is_list, is_object
from .._json import copy_json


def default(schema: dict[str, Any], obj: Any) -> None:
    """Drop nulls that are not allowed and fill in defaults, in place, as a server does."""
    _drop_nulls(schema, obj)
    _fill(schema, obj)


def _drop_nulls(schema: Any, value: Any) -> None:
    if is_object(value):
        for name in list(value):
            below = _member_schema(schema, name)
            if value[name] is None and _refuses_null(below) and below.get("default") is None:
                del value[name]
            else:
                _drop_nulls(below, value[name])
    elif is_list(value):
        for element in value:
            _drop_nulls(_items(schema), element)


def _fill(schema: Any, value: Any) -> None:
    if not is_object(schema):
        return
    if is_object(value):
        known: dict[str, Any] = schema.get("properties", {})
        for name, below in known.items():
            if below.get("default") is None:
                continue
            if name not in value or (value[name] is None and _refuses_null(below)):
                value[name] = copy_json(below["default"])
        for name in value:
            below = _member_schema(schema, name)
            if value[name] is None and name not in known and _refuses_null(below):
                value[name] = copy_json(below.get("default"))
            _fill(below, value[name])
    elif is_list(value):
        items = _items(schema)
        for index, element in enumerate(value):
            if element is None and _refuses_null(items):
                value[index] = copy_json(items.get("default"))
            _fill(items, value[index])


def _member_schema(schema: Any, name: str) -> Any:
    if not is_object(schema):
        return None
    known: dict[str, Any] = schema.get("properties", {})
    return known[name] if name in known else schema.get("additionalProperties")


def _items(schema: Any) -> Any:
    return schema.get("items") if is_object(schema) else None


def _refuses_null(schema: Any) -> bool:
    return is_object(schema) and not schema.get("nullable", False)
