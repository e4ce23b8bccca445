"""Null in JSON means nothing to Go's decoder: a member that is null counts as missing."""

from __future__ import annotations

from typing import Any

from ._pointers import is_list, is_object


def without_nulls(value: Any) -> Any:
    """Return a new value without members that are null, at any depth; elements of lists stay."""
    if is_object(value):
        # Most members are plain values, which need no call.
        return {
            name: without_nulls(one) if isinstance(one, (dict, list)) else one
            for name, one in value.items()
            if one is not None
        }
    return [without_nulls(one) for one in value] if is_list(value) else value
