"""`WebhookStats`: how often a webhook was called, with which outcome, and for how long."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar, Final

# Those of Prometheus' Go client, which controller-runtime counts webhooks with.
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Shown before the first call too, so that a rate over them begins at its beginning.
_EXPECTED: Final[tuple[str, ...]] = ("200", "500")


class WebhookStats:
    """The calls of one webhook, which is one path."""

    __slots__ = ("codes", "counts", "in_flight", "seconds")
    bounds: ClassVar[tuple[float, ...]] = _BOUNDS

    def __init__(self) -> None:
        self.codes: dict[str, int] = dict.fromkeys(_EXPECTED, 0)
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0
        self.in_flight = 0

    def begin(self) -> None:
        """Count a call that has come."""
        self.in_flight += 1

    def end(self, code: int, seconds: float) -> None:
        """Count a call that was answered."""
        self.in_flight -= 1
        self.codes[str(code)] = self.codes.get(str(code), 0) + 1
        self.counts[bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds
