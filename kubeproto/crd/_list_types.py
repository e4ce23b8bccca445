"""The list types set and map: their elements are unique, and keys identify the elements of an update."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..objects import is_list, is_object
from ._violations import Violation, child, duplicate, invalid, key


def find_duplicates(schema: Any, value: Any, path: str = "") -> Iterator[Violation]:
    """Yield the duplicates in lists of the types set and map, at any depth."""
    if not is_object(schema):
        return
    if is_object(value):
        properties: dict[str, Any] = schema.get("properties", {})
        for name, member in value.items():
            if name in properties:
                yield from find_duplicates(properties[name], member, child(path, name))
            else:
                yield from find_duplicates(schema.get("additionalProperties"), member, key(path, name))
    elif is_list(value):
        match schema.get("x-kubernetes-list-type"):
            case "set":
                yield from _find_duplicate_values(value, path)
            case "map":
                yield from _find_duplicate_keys(schema["x-kubernetes-list-map-keys"], value, path)
            case _:
                pass
        for index, element in enumerate(value):
            yield from find_duplicates(schema.get("items"), element, key(path, index))


def elements_by_key(schema: dict[str, Any], old: Any) -> dict[bytes, Any]:
    """Return the elements of an old list of type map by their keys; other lists have no keys."""
    if schema.get("x-kubernetes-list-type") != "map" or not is_list(old):
        return {}
    keys: list[str] = schema["x-kubernetes-list-map-keys"]
    return {element_key(keys, element): element for element in old if is_object(element)}


def element_key(keys: list[str], element: dict[str, Any]) -> bytes:
    """Return the key of an element of a list of type map, as bytes."""
    return _encode(_key_fields(keys, element))


def _find_duplicate_keys(keys: list[str], elements: list[Any], path: str) -> Iterator[Violation]:
    for index, element in enumerate(elements):
        if element is not None and not is_object(element):
            yield invalid(key(path, index), element, "must be an object for an array of list-type map")
            return
    yield from _find_duplicate_values([_key_fields(keys, element or {}) for element in elements], path)


def _key_fields(keys: list[str], element: dict[str, Any]) -> dict[str, Any]:
    return {name: element[name] for name in keys if name in element}


def _find_duplicate_values(elements: list[Any], path: str) -> Iterator[Violation]:
    """Yield the second occurrence of each value; a server does not report further occurrences."""
    counts: dict[bytes, int] = {}
    for index, element in enumerate(elements):
        encoded = _encode(element)
        counts[encoded] = counts.get(encoded, 0) + 1
        if counts[encoded] == 2:
            yield duplicate(key(path, index), element)


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
