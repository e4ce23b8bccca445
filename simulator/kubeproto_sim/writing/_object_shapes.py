"""The shape of an object: its keys and lists, on which field ownership depends, without its values.

Programs write many objects of few shapes, so managedFields are mostly found in a cache by the shape.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from kubeproto.objects import is_list, is_object

Shape = tuple[Any, ...]
Difference = Literal["none", "values", "shape"]

# The part of the metadata that managers own.
_OWNED_METADATA: Final = ("annotations", "finalizers", "generateName", "labels", "ownerReferences")
_encode: Final = msgspec.json.Encoder().encode


def shape_of(obj: dict[str, Any]) -> Shape:
    """Return the shape of an object."""
    meta = obj["metadata"]
    metadata_shape = tuple([(name, _shape(meta[name])) for name in _OWNED_METADATA if name in meta])
    return metadata_shape, *[
        (name, _shape(value) if isinstance(value, (dict, list)) else value is None)
        for name, value in obj.items()
        if name != "metadata"
    ]


def _shape(value: Any) -> Any:
    if is_object(value):
        # Most members are scalars, and skipping the call for them is faster.
        return tuple([
            (name, _shape(part) if isinstance(part, (dict, list)) else part is None)
            for name, part in value.items()
        ])  # fmt: skip
    if is_list(value):
        return _encode(value)
    return value is None


def difference(previous: dict[str, Any], current: dict[str, Any]) -> Difference:
    """Return whether two states of an object differ only in values, in their shape, or not at all."""
    previous_meta, current_meta = previous["metadata"], current["metadata"]
    result: Difference = "none"
    for name in _OWNED_METADATA:
        if name in previous_meta or name in current_meta:
            result = _larger(result, _differ(previous_meta.get(name), current_meta.get(name)))
    if previous.keys() != current.keys():
        return "shape"
    for name, value in previous.items():
        if name != "metadata" and result != "shape":
            result = _larger(result, _differ(value, current[name]))
    return result


def _differ(previous: Any, current: Any) -> Difference:
    if previous == current and type(previous) is type(current):
        return "none"
    if not (is_object(previous) and is_object(current)):
        is_scalar = not isinstance(previous, (dict, list)) and not isinstance(current, (dict, list))
        return "values" if is_scalar and previous is not None and current is not None else "shape"
    if previous.keys() != current.keys():
        return "shape"
    result: Difference = "none"
    for name, value in previous.items():
        result = _larger(result, _differ(value, current[name]))
        if result == "shape":
            break
    return result


def _larger(current: Difference, other: Difference) -> Difference:
    return other if current == "none" or other == "shape" else current
