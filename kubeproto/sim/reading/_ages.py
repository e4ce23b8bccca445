"""How long ago a time was, as kubectl shows it."""

from __future__ import annotations

from ...objects import parse_time


def ago(stamp: str | None, time: float) -> str:
    """Return how long ago a time was, as kubectl shows it."""
    if not stamp:
        return "<unknown>"
    seconds = int(time - parse_time(stamp).timestamp())
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"
