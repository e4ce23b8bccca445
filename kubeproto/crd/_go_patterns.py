"""Regular expressions of Go (RE2), translated to those of Python."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final

# Syntax of Python that Go refuses: look-around, back references, atomic groups, possessive quantifiers.
_PYTHON_ONLY: Final = re.compile(r"\\[1-9]|\\Z|\(\?(?:[=!>(]|<[=!]|P=)|[*+?}]\+")
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
_PYTHON_TOKENS: Final = {"$": r"\Z", r"\z": r"\Z"}


def check_pattern(pattern: str) -> None:
    """Raise ValueError for a pattern that a server could not compile."""
    match = _PYTHON_ONLY.search(pattern.replace(r"\\", ""))
    if match:
        raise ValueError(
            f"the pattern {pattern!r} uses {match[0]!r}, which Go's regular expressions do not support"
        )
    try:
        _compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


def matches(pattern: str, text: str) -> bool:
    """Return whether the pattern matches anywhere in the text; `$` matches only its end, as in Go."""
    return _compile(pattern).search(text) is not None


def find_matches(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Yield every match of the pattern in the text."""
    return _compile(pattern).finditer(text)


@functools.lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(_TOKEN.sub(lambda token: _PYTHON_TOKENS.get(token[0], token[0]), pattern))
