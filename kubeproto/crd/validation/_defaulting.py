"""Defaulting: missing fields get their defaults; a null that is not allowed counts as missing.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable
"""

from __future__ import annotations

from typing import Any

from ...objects import is_list, is_object
from ...objects._shared import copy_json


def apply_defaults(schema: dict[str, Any], obj: Any) -> None:
    """Remove nulls that are not allowed and add defaults, in place, as a server does."""
    _remove_nulls(schema, obj)
    _add_defaults(schema, obj)


def _remove_nulls(schema: Any, value: Any) -> None:
    if is_object(value):
        for name in list(value):
            member_schema = _member_schema(schema, name)
            if value[name] is None and _refuses_null(member_schema) and member_schema.get("default") is None:
                del value[name]
            else:
                _remove_nulls(member_schema, value[name])
    elif is_list(value):
        for element in value:
            _remove_nulls(_items_schema(schema), element)


def _add_defaults(schema: Any, value: Any) -> None:
    if not is_object(schema):
        return
    if is_object(value):
        properties: dict[str, Any] = schema.get("properties", {})
        for name, property_ in properties.items():
            if property_.get("default") is None:
                continue
            if name not in value or (value[name] is None and _refuses_null(property_)):
                value[name] = copy_json(property_["default"])
        for name in value:
            member_schema = _member_schema(schema, name)
            if value[name] is None and name not in properties and _refuses_null(member_schema):
                value[name] = copy_json(member_schema.get("default"))
            _add_defaults(member_schema, value[name])
    elif is_list(value):
        items = _items_schema(schema)
        for index, element in enumerate(value):
            if element is None and _refuses_null(items):
                value[index] = copy_json(items.get("default"))
            _add_defaults(items, value[index])


def _member_schema(schema: Any, name: str) -> Any:
    if not is_object(schema):
        return None
    properties: dict[str, Any] = schema.get("properties", {})
    return properties[name] if name in properties else schema.get("additionalProperties")


def _items_schema(schema: Any) -> Any:
    return schema.get("items") if is_object(schema) else None


def _refuses_null(schema: Any) -> bool:
    return is_object(schema) and not schema.get("nullable", False)
