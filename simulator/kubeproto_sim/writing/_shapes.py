"""The shape of an object: everything that field ownership depends on, its keys and its lists, not its values.

Programs write objects of few shapes over and over, so managedFields can mostly be taken from memory.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from ..storage._json_values import is_list, is_map

Shape = tuple[Any, ...]
Difference = Literal["none", "values", "shape"]

# The part of the metadata that managers own.
_OWNED: Final = ("annotations", "finalizers", "generateName", "labels", "ownerReferences")
_encode: Final = msgspec.json.Encoder().encode


def shape_of(obj: dict[str, Any]) -> Shape:
    """Return the shape of a whole object."""
    meta = obj["metadata"]
    owned = tuple([(name, _shape(meta[name])) for name in _OWNED if name in meta])
    return owned, *[
        (name, _shape(value) if isinstance(value, (dict, list)) else value is None)
        for name, value in obj.items()
        if name != "metadata"
    ]


def _shape(value: Any) -> Any:
    if is_map(value):
        # Most members are plain values, which need no call.
        return tuple([
            (name, _shape(part) if isinstance(part, (dict, list)) else part is None)
            for name, part in value.items()
        ])  # fmt: skip
    if is_list(value):
        return _encode(value)
    return value is None


def difference(before: dict[str, Any], after: dict[str, Any]) -> Difference:
    """Return whether two states of an object differ only in values, in their shape, or not at all."""
    old, new = before["metadata"], after["metadata"]
    found: Difference = "none"
    for name in _OWNED:
        if name in old or name in new:
            found = _worse(found, _differ(old.get(name), new.get(name)))
    if before.keys() != after.keys():
        return "shape"
    for name, value in before.items():
        if name != "metadata" and found != "shape":
            found = _worse(found, _differ(value, after[name]))
    return found


def _differ(before: Any, after: Any) -> Difference:
    if before == after and type(before) is type(after):
        return "none"
    if not (is_map(before) and is_map(after)):
        plain = not isinstance(before, (dict, list)) and not isinstance(after, (dict, list))
        return "values" if plain and before is not None and after is not None else "shape"
    if before.keys() != after.keys():
        return "shape"
    found: Difference = "none"
    for name, value in before.items():
        found = _worse(found, _differ(value, after[name]))
        if found == "shape":
            break
    return found


def _worse(one: Difference, other: Difference) -> Difference:
    return other if one == "none" or other == "shape" else one
