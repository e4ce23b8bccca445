"""JSON values as msgspec reads them: their types for the type checkers, and copies."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Return whether a JSON value is a list."""
    return isinstance(value, list)


def copy_json(value: Any) -> Any:
    """Return a copy that shares no object and no list with the value."""
    if is_object(value):
        return {name: copy_json(one) for name, one in value.items()}
    return [copy_json(one) for one in value] if is_list(value) else value
