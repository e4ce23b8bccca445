"""How many examples a property tries that has a number of its own: all in the gate, fewer in `make test`."""

from __future__ import annotations

from hypothesis import settings

_ALL = 100  # the examples of a property without a number of its own, when all are asked for


def examples(count: int) -> int:
    """Return the same share of a number as is tried of any property's examples."""
    return -(-count * settings().max_examples // _ALL)
