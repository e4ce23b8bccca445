"""`LoggedLines`: the log lines of the last second, so that a repeated line is logged for debugging only.

Backoffs alone do not limit repetitions. A reconcile that fails, succeeds on its next attempt and fails again
after a change can do so every few milliseconds: each success resets its number of attempts. A list that fails
alternately in two ways is retried after 0.8 s, as by the reflectors of client-go.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import Final

_INTERVAL: Final = 1.0  # seconds


class LoggedLines:
    """The times at which lines were logged. Lines are forgotten after a second."""

    def __init__(self) -> None:
        self._logged_at: dict[Hashable, float] = {}

    def level(self, level: int, line: Hashable, now: float) -> int:
        """Return `level`, or DEBUG if the same line was logged within the last second."""
        logged_at = self._logged_at
        while logged_at and now - logged_at[oldest := next(iter(logged_at))] >= _INTERVAL:
            del logged_at[oldest]
        if line in logged_at:
            return logging.DEBUG
        logged_at[line] = now
        return level
