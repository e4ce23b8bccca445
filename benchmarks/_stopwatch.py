"""How long one run of a function takes; on the standard library alone, since the peers use it too."""

import gc
import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

SHORTEST: Final = 0.1  # seconds of one lap: four orders above what the clock and the loop around it cost
BEST_OF: Final = 3  # laps of a round; the best one is the one that was disturbed least


class Stopwatch:
    """A probe: each call gives the seconds that one run of `run` takes, the best of a few laps.

    It is the processor's time, which others on the machine disturb least; whoever waits for another process
    gives `time.perf_counter` as the clock. The first call finds out how many runs make a lap that lasts
    `shortest`; later ones keep that number.
    """

    def __init__(
        self,
        run: Callable[[], object],
        *,
        clock: Callable[[], float] = time.process_time,
        shortest: float = SHORTEST,
        best_of: int = BEST_OF,
    ) -> None:
        self._run = run
        self._clock = clock
        self._shortest = shortest
        self._best_of = best_of
        self._runs = 0

    def __call__(self) -> float:
        with _own_garbage_only():
            if not self._runs:
                self._runs = self._calibrate()
            return min(self._lap(self._runs) for _ in range(self._best_of)) / self._runs

    def _calibrate(self) -> int:
        runs = 1
        while (took := self._lap(runs)) < self._shortest:
            # First laps are slow (cold caches) and short ones rough: aim above, and never leap too far.
            enough = math.ceil(1.2 * runs * self._shortest / took) if took > 0 else runs * 10
            runs = max(runs + 1, min(enough, runs * 10))
        return runs

    def _lap(self, runs: int) -> float:
        run = self._run
        start = self._clock()
        for _ in range(runs):
            run()
        return self._clock() - start


@contextmanager
def _own_garbage_only() -> Generator[None]:
    """Let the collector work as in any program, but hide from it what the benchmark itself keeps around."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
