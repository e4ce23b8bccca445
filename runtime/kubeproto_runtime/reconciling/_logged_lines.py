"""`LoggedLines`: which lines about a key were logged within the last second, so that none comes twice.

A run that fails, succeeds on its next attempt and is called again by a change can fail in the same way within
milliseconds, for as long as changes come: its attempts are counted anew each time, and so is its backoff.
"""

from __future__ import annotations

import logging
from typing import Final

_PAUSE: Final = 1.0  # seconds


class LoggedLines:
    """What was logged, and when; nothing older than a second is kept."""

    def __init__(self) -> None:
        self._logged: dict[tuple[str, int, str], float] = {}

    def level(self, level: int, key: str, attempt: int, text: str, now: float) -> int:
        """Return the level for a line: the one that is given, or DEBUG within a second of the same line."""
        logged, mark = self._logged, (key, attempt, text)
        while logged and now - logged[oldest := next(iter(logged))] >= _PAUSE:
            del logged[oldest]
        if mark in logged:
            return logging.DEBUG
        logged[mark] = now
        return level
