"""The identity of list elements: their keys, or the value in a set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubeproto.objects import is_list, is_object

from ._merge_schemas import MergeSchema
from .fieldsets import keys_step, value_step


class UnidentifiedElement(ValueError):
    """An element has no identity; the message is that of a server."""


def step_of(element: Any, schema: MergeSchema) -> str:
    """Return the step from a list to one of its elements."""
    if not schema.keys:
        return _value_step(element)
    if element is None:
        raise UnidentifiedElement("associative list with keys may not have a null element")
    if not is_object(element):
        raise UnidentifiedElement("associative list with keys may not have non-map elements")
    keys: dict[str, Any] = {}
    for name in schema.keys:
        if name in element:
            keys[name] = element[name]
            continue
        declared = schema.element.member(name)
        if declared is not None and declared.default is not None:
            keys[name] = declared.default
    if not keys:
        names = " ".join(f'"{name}"' for name in schema.keys)
        raise UnidentifiedElement(
            "associative list with keys has an element that omits all key fields "
            f"[{names}] (and doesn't have default values for any key fields)"
        )
    return keys_step(keys)


def by_step(elements: Iterable[Any], schema: MergeSchema) -> dict[str, list[Any]]:
    """Return the elements of a list by their steps, duplicates included, in the order of the list."""
    result: dict[str, list[Any]] = {}
    for element in elements:
        try:
            step = step_of(element, schema)
        except UnidentifiedElement:
            continue  # old objects can contain such elements, which nobody can own
        result.setdefault(step, []).append(element)
    return result


def _value_step(element: Any) -> str:
    if is_object(element):
        # A server accepts maps in a set, where each map is a single field; its step is its JSON.
        return value_step(element)
    if is_list(element):
        raise UnidentifiedElement("not supported: associative list with lists as elements")
    if element is None:
        raise UnidentifiedElement("associative list without keys has an element that's an explicit null")
    return value_step(element)
