"""What a server checks of list types, their keys, and map types: server-side apply must be able to merge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...objects import is_object
from .._violations import Violation, child, forbidden, invalid, key, required, unsupported


def check_list_type(schema: dict[str, Any], path: str) -> Iterator[Violation]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys", [])
    where = child(path, "x-kubernetes-list-type")
    if keys and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid(where, kind, detail) if kind else required(where, detail)
    if kind is None:
        return
    if kind not in ("atomic", "set", "map"):
        yield unsupported(where, kind, ("atomic", "set", "map"))
    if schema.get("type") != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        type_ = schema.get("type")
        yield invalid(child(path, "type"), type_, detail) if type_ else required(child(path, "type"), detail)
        return
    items = schema.get("items")
    if not is_object(items) or kind not in ("set", "map"):
        return
    inner = child(path, "items")
    if items.get("nullable"):
        yield forbidden(child(inner, "nullable"), f"cannot be nullable when x-kubernetes-list-type is {kind}")
    if kind == "map":
        yield from _check_list_map(items, keys, path)
        return
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield invalid(child(inner, "x-kubernetes-list-type"), items["x-kubernetes-list-type"], detail)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(child(inner, "x-kubernetes-map-type"), items.get("x-kubernetes-map-type"), detail)


def _check_list_map(items: dict[str, Any], keys: list[str], path: str) -> Iterator[Violation]:
    where, inner = child(path, "x-kubernetes-list-map-keys"), child(path, "items")
    if not keys:
        yield required(where, "must not be empty if x-kubernetes-list-type is map")
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(child(inner, "type"), items.get("type"), detail)
        return
    if len(set(keys)) < len(keys):
        yield invalid(where, keys, "must not contain duplicate entries")
    known: dict[str, Any] = items.get("properties", {})
    for name in keys:
        if name not in known:
            yield invalid(where, keys, "entries must all be names of item properties")
            continue
        field, at = known[name], key(child(inner, "properties"), name)
        if field.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(child(at, "type"), field["type"], detail)
        if name not in items.get("required", ()) and field.get("default") is None:
            yield required(
                child(at, "default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required"
                " property",
            )
        if field.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(child(at, "nullable"), detail)


def check_map_type(schema: dict[str, Any], path: str) -> Iterator[Violation]:
    kind, type_ = schema.get("x-kubernetes-map-type"), schema.get("type")
    if kind is None:
        return
    if type_ != "object":
        detail = "must be object if x-kubernetes-map-type is specified"
        yield invalid(child(path, "type"), type_, detail) if type_ else required(child(path, "type"), detail)
    if kind not in ("atomic", "granular"):
        yield unsupported(child(path, "x-kubernetes-map-type"), kind, ("atomic", "granular"))
