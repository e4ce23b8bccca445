"""Read the diagram of a state machine from the docstring of its module."""

from __future__ import annotations

import re
from typing import Final

ARROW: Final = re.compile(r"^ +(\w+) ─+ (\w+) ─+► (\w+(?:, \w+)*)$", re.MULTILINE)


def arrows(doc: str | None) -> set[tuple[str, str, str]]:
    """The arrows that a docstring draws: state, event, next state."""
    found = [
        (before, event, after) for before, event, to in ARROW.findall(doc or "") for after in to.split(", ")
    ]
    assert found, "the docstring draws no arrows"
    assert len(found) == len(set(found)), "an arrow is drawn twice"
    return set(found)
