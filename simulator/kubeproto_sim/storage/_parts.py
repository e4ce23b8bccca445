"""Parts of objects that may be missing: a missing part counts as empty."""

from __future__ import annotations

from typing import Any

from ._values import is_list, is_map


def member(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object under a name."""
    value = obj.get(name)
    return value if is_map(value) else {}


def listed(obj: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of objects under a name."""
    value = obj.get(name)
    return value if is_list(value) else []


def texts(obj: dict[str, Any], name: str) -> list[str]:
    """Return the list of strings under a name."""
    value = obj.get(name)
    return value if is_list(value) else []
