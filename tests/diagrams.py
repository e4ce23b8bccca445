"""Read the diagram of a state machine from the docstring of its module."""

from __future__ import annotations

import re
from typing import Final

ARROW: Final = re.compile(r"^ +(\w+) ─+ (\w+) ─+► (\w+(?:, \w+)*)$", re.MULTILINE)


def arrows(doc: str | None) -> set[tuple[str, str, str]]:
    """Return the arrows of a docstring: state, event, next state."""
    drawn = [
        (state, event, next_state)
        for state, event, to in ARROW.findall(doc or "")
        for next_state in to.split(", ")
    ]
    assert drawn, "the docstring draws no arrows"
    assert len(drawn) == len(set(drawn)), "an arrow is drawn twice"
    return set(drawn)
