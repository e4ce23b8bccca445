"""Patterns as Go's regular expressions (RE2) read them, on Python's."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final

# What Python's regular expressions have and Go's refuse: look-around, back references, atomic groups.
_NOT_IN_GO: Final = re.compile(r"\\[1-9]|\\Z|\(\?(?:[=!>(]|<[=!]|P=)|[*+?}]\+")
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
_AS_PYTHON: Final = {"$": r"\Z", r"\z": r"\Z"}


def check_pattern(pattern: str) -> None:
    """Refuse with a ValueError what a server could not compile."""
    found = _NOT_IN_GO.search(pattern.replace(r"\\", ""))
    if found:
        raise ValueError(
            f"the pattern {pattern!r} uses {found[0]!r}, which Go's regular expressions do not know"
        )
    try:
        _compiled(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


def matches(pattern: str, text: str) -> bool:
    """Return whether the pattern is found anywhere in the text; `$` matches only its end, as in Go."""
    return _compiled(pattern).search(text) is not None


def find_matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Yield every place in the text where the pattern is found."""
    return _compiled(pattern).finditer(text)


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_TOKEN.sub(lambda token: _AS_PYTHON.get(token[0], token[0]), pattern))
