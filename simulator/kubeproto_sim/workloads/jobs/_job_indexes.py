"""Completion indexes in the format of a Job's status: ``1,3-5,7``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_PAIR: Final = 2


def read_indexes(text: str, completions: int) -> set[int]:
    """Return the indexes below `completions` that a string names; what cannot be read is left out."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not last):
            found |= set(range(int(first), min(int(last or first) + 1, completions)))
    return found


def write_indexes(indexes: Iterable[int]) -> str:
    """Return some indexes as a string; three or more in a row are a range."""
    parts: list[str] = []
    run: list[int] = []
    for index in [*sorted(set(indexes)), -1]:
        if run and index != run[-1] + 1:
            parts += [f"{run[0]}-{run[-1]}"] if len(run) > _PAIR else map(str, run)
            run = []
        run.append(index)
    return ",".join(parts)


def pending_indexes(done: set[int], count: int, completions: int) -> list[int]:
    """Return the first indexes that are not complete, at most `count`."""
    found: list[int] = []
    for index in range(completions):
        if len(found) >= count:
            break
        if index not in done:
            found.append(index)
    return found
