"""How long ago a time was, as kubectl shows it."""

from __future__ import annotations

from kubeproto.objects import human_duration, parse_time


def ago(stamp: str | None, time: float) -> str:
    """Return how long ago a time was, as kubectl shows it."""
    if not stamp:
        return "<unknown>"
    return human_duration(time - parse_time(stamp).timestamp())
