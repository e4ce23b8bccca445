"""Copies of JSON values."""

from __future__ import annotations

from typing import Any

from ..objects import is_list, is_object


def copy_json(value: Any) -> Any:
    """Return a copy that shares no object and no list with the value."""
    if is_object(value):
        return {name: copy_json(one) for name, one in value.items()}
    return [copy_json(one) for one in value] if is_list(value) else value
