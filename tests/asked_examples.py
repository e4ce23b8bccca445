"""The number of examples of properties that set their own number."""

from __future__ import annotations

from hypothesis import settings

_ALL = 100  # the examples of a property without its own number, with --thorough


def examples(count: int) -> int:
    """Return the share of this number that other properties try."""
    return -(-count * settings().max_examples // _ALL)
