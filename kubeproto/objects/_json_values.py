"""Plain JSON values: type guards, comparison, copies, and members that are null."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Return whether `value` is a JSON list."""
    return isinstance(value, list)


def json_equal(a: Any, b: Any) -> bool:
    """Return whether values are equal by RFC 6902 §4.6: numbers by value; true is not 1 as in Python."""
    if is_object(a) and is_object(b):
        return a.keys() == b.keys() and all(json_equal(a[key], b[key]) for key in a)
    if is_list(a) and is_list(b):
        return len(a) == len(b) and all(map(json_equal, a, b))
    return isinstance(a, bool) is isinstance(b, bool) and bool(a == b)


def copy_json(value: Any) -> Any:
    """Return a copy that shares no object and no list with `value`."""
    if is_object(value):
        return {key: copy_json(part) for key, part in value.items()}
    if is_list(value):
        return [copy_json(part) for part in value]
    return value


def without_nulls(value: Any) -> Any:
    """Return a new value without members that are null, at any depth; elements of lists stay.

    Go's decoder treats a null member like a missing member.
    """
    if is_object(value):
        # Most members are plain values, which need no call.
        return {
            name: without_nulls(member) if isinstance(member, (dict, list)) else member
            for name, member in value.items()
            if member is not None
        }
    return [without_nulls(member) for member in value] if is_list(value) else value
