"""A server's checks of list types, their keys, and map types, by which server-side apply merges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...objects import is_object
from .._violations import Violation, child, forbidden, invalid, key, required, unsupported


def check_list_type(schema: dict[str, Any], path: str) -> Iterator[Violation]:
    """Yield the violations in the list type of a schema."""
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys", [])
    keyword_path = child(path, "x-kubernetes-list-type")
    if keys and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid(keyword_path, kind, detail) if kind else required(keyword_path, detail)
    if kind is None:
        return
    if kind not in ("atomic", "set", "map"):
        yield unsupported(keyword_path, kind, ("atomic", "set", "map"))
    if schema.get("type") != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        type_ = schema.get("type")
        yield invalid(child(path, "type"), type_, detail) if type_ else required(child(path, "type"), detail)
        return
    items = schema.get("items")
    if not is_object(items) or kind not in ("set", "map"):
        return
    items_path = child(path, "items")
    if items.get("nullable"):
        yield forbidden(
            child(items_path, "nullable"), f"cannot be nullable when x-kubernetes-list-type is {kind}"
        )
    if kind == "map":
        yield from _check_list_map(items, keys, path)
        return
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield invalid(child(items_path, "x-kubernetes-list-type"), items["x-kubernetes-list-type"], detail)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(child(items_path, "x-kubernetes-map-type"), items.get("x-kubernetes-map-type"), detail)


def _check_list_map(items: dict[str, Any], keys: list[str], path: str) -> Iterator[Violation]:
    keyword_path, items_path = child(path, "x-kubernetes-list-map-keys"), child(path, "items")
    if not keys:
        yield required(keyword_path, "must not be empty if x-kubernetes-list-type is map")
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(child(items_path, "type"), items.get("type"), detail)
        return
    if len(set(keys)) < len(keys):
        yield invalid(keyword_path, keys, "must not contain duplicate entries")
    properties: dict[str, Any] = items.get("properties", {})
    for name in keys:
        if name not in properties:
            yield invalid(keyword_path, keys, "entries must all be names of item properties")
            continue
        property_, property_path = properties[name], key(child(items_path, "properties"), name)
        if property_.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(child(property_path, "type"), property_["type"], detail)
        if name not in items.get("required", ()) and property_.get("default") is None:
            yield required(
                child(property_path, "default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required"
                " property",
            )
        if property_.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(child(property_path, "nullable"), detail)


def check_map_type(schema: dict[str, Any], path: str) -> Iterator[Violation]:
    """Yield the violations in the map type of a schema."""
    kind, type_ = schema.get("x-kubernetes-map-type"), schema.get("type")
    if kind is None:
        return
    if type_ != "object":
        detail = "must be object if x-kubernetes-map-type is specified"
        yield invalid(child(path, "type"), type_, detail) if type_ else required(child(path, "type"), detail)
    if kind not in ("atomic", "granular"):
        yield unsupported(child(path, "x-kubernetes-map-type"), kind, ("atomic", "granular"))
