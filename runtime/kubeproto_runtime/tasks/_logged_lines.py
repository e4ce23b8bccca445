"""`LoggedLines`: which lines were logged within the last second, so that none comes twice.

Backoffs alone do not ensure that. A run that fails, succeeds on its next attempt and is called again by a
change can fail in the same way within milliseconds, for as long as changes come: its attempts are counted
again each time. And a list that fails alternately in two ways is retried after 0.8 s, as with Go's
reflectors.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import Final

_PAUSE: Final = 1.0  # seconds


class LoggedLines:
    """What was logged, and when; nothing older than a second is kept."""

    def __init__(self) -> None:
        self._logged: dict[Hashable, float] = {}

    def level(self, level: int, line: Hashable, now: float) -> int:
        """Return the level for a line: the one that is given, or DEBUG within a second of the same line."""
        logged = self._logged
        while logged and now - logged[oldest := next(iter(logged))] >= _PAUSE:
            del logged[oldest]
        if line in logged:
            return logging.DEBUG
        logged[line] = now
        return level
