"""List types: elements of a set and keys of a list-map are unique, and identify the old elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..objects import is_list, is_object
from ._violations import Violation, child, duplicate, invalid, key


def duplicates(schema: Any, value: Any, path: str = "") -> Iterator[Violation]:
    """Return the duplicates in lists of the types set and map, anywhere below."""
    if not is_object(schema):
        return
    if is_object(value):
        known: dict[str, Any] = schema.get("properties", {})
        for name, below in value.items():
            if name in known:
                yield from duplicates(known[name], below, child(path, name))
            else:
                yield from duplicates(schema.get("additionalProperties"), below, key(path, name))
    elif is_list(value):
        match schema.get("x-kubernetes-list-type"):
            case "set":
                yield from _repeated(value, path)
            case "map":
                yield from _repeated_keys(schema["x-kubernetes-list-map-keys"], value, path)
            case _:
                pass
        for index, element in enumerate(value):
            yield from duplicates(schema.get("items"), element, key(path, index))


def correlate(schema: dict[str, Any], old: Any) -> dict[bytes, Any]:
    """Return the elements of an old list-map by their keys; those of other lists have no identity."""
    if schema.get("x-kubernetes-list-type") != "map" or not is_list(old):
        return {}
    keys: list[str] = schema["x-kubernetes-list-map-keys"]
    return {identity(keys, element): element for element in old if is_object(element)}


def identity(keys: list[str], element: dict[str, Any]) -> bytes:
    """Return what identifies an element of a list-map."""
    return _frozen(_key_fields(keys, element))


def _repeated_keys(keys: list[str], elements: list[Any], path: str) -> Iterator[Violation]:
    for index, element in enumerate(elements):
        if element is not None and not is_object(element):
            yield invalid(key(path, index), element, "must be an object for an array of list-type map")
            return
    yield from _repeated([_key_fields(keys, element or {}) for element in elements], path)


def _key_fields(keys: list[str], element: dict[str, Any]) -> dict[str, Any]:
    return {name: element[name] for name in keys if name in element}


def _repeated(elements: list[Any], path: str) -> Iterator[Violation]:
    """Yield the second occurrence of each; further ones are not reported."""
    seen: dict[bytes, int] = {}
    for index, element in enumerate(elements):
        frozen = _frozen(element)
        seen[frozen] = seen.get(frozen, 0) + 1
        if seen[frozen] == 2:
            yield duplicate(key(path, index), element)


def _frozen(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
