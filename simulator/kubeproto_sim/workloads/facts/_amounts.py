"""Numbers that may be a percentage of another number, such as 25% of the replicas."""

from __future__ import annotations

from typing import Any, Final

_PERCENT: Final = 100


def share(value: Any, of: int, *, up: bool) -> int:
    """Return a number, or a percentage of another number, rounded up or down."""
    if isinstance(value, str) and value.endswith("%"):
        part = int(value[:-1]) * of
        return -(-part // _PERCENT) if up else part // _PERCENT
    return int(value or 0)


def rounded(value: float) -> int:
    """Return the nearest whole number; halves go away from zero."""
    return int(value - 0.5) if value < 0 else int(value + 0.5)
