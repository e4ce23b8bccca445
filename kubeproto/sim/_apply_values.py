"""JSON values as the patches see them: which they are, copies of them, and how Go would print them."""

from __future__ import annotations

from typing import Any, TypeGuard

import msgspec


def is_map(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether this is a JSON list."""
    return isinstance(value, list)


def copied(value: Any) -> Any:
    """A copy that shares no map and no list with the value."""
    if is_map(value):
        return {key: copied(held) for key, held in value.items()}
    if is_list(value):
        return [copied(held) for held in value]
    return value


def members(value: Any) -> dict[str, Any]:
    """The members of a map; none for anything else."""
    return value if is_map(value) else {}


def go_text(value: Any) -> str:
    """A value inside of a server's message: maps as ``map[a:1 b:2]``, lists as ``[1 2]``."""
    if is_map(value):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if is_list(value):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
