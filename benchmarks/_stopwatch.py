"""The duration of a function; only the standard library, because the peers also use this module."""

import gc
import math
import resource
import statistics
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

SHORTEST: Final = 0.05  # seconds of a lap: a thousand times the cost of the clock and the loop
BEST_OF: Final = 3  # laps of a round, of which the least disturbed counts
LONG: Final = 1.0  # seconds of a lap that is too long for disturbances to matter


class Stopwatch:
    """A probe: each call returns the seconds of a run of `run`, the best of a few laps.

    It measures CPU time, which other processes disturb least; a contender that waits for another process
    passes `time.perf_counter` as the clock. The first call finds the number of runs in a lap of `shortest`
    seconds; later calls use that number.
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
        self._spent: list[tuple[float, float]] = []

    def __call__(self) -> float:
        with hide_existing_objects():
            if not self._runs:
                self._runs = self._calibrate()
            usage_before = resource.getrusage(resource.RUSAGE_SELF)
            laps = [self._lap(self._runs)]
            while len(laps) < self._best_of and laps[-1] < LONG:
                laps.append(self._lap(self._runs))
            usage_after, runs = resource.getrusage(resource.RUSAGE_SELF), self._runs * len(laps)
            best = min(laps) / self._runs
        user, system = (
            usage_after.ru_utime - usage_before.ru_utime,
            usage_after.ru_stime - usage_before.ru_stime,
        )
        self._spent.append((user / runs, system / runs))
        return best

    @property
    def cpu_times(self) -> tuple[float, float]:
        """Return the CPU seconds of a run in user and system mode: the medians of the calls so far."""
        return medians(self._spent) or (0.0, 0.0)

    def _calibrate(self) -> int:
        runs = 1
        while (took := self._lap(runs)) < self._shortest:
            # First laps are slow (cold caches) and short ones rough: aim above, in limited steps.
            enough = math.ceil(1.2 * runs * self._shortest / took) if took > 0 else runs * 10
            runs = max(runs + 1, min(enough, runs * 10))
        return runs

    def _lap(self, runs: int) -> float:
        run = self._run
        start = self._clock()
        for _ in range(runs):
            run()
        return self._clock() - start


class Children:
    """The CPU time of started processes, each of which counts as an event."""

    def __init__(self) -> None:
        self._spent: list[tuple[float, float]] = []

    @contextmanager
    def count(self) -> Generator[None]:
        """Count the process that starts and ends in the block."""
        usage_before = resource.getrusage(resource.RUSAGE_CHILDREN)
        yield
        usage_after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._spent.append(
            (usage_after.ru_utime - usage_before.ru_utime, usage_after.ru_stime - usage_before.ru_stime)
        )

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Return the CPU seconds of a process in user and system mode: the medians."""
        return medians(self._spent)


def medians(cpu_times: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the medians of both figures, or None without figures."""
    if not cpu_times:
        return None
    return statistics.median(user for user, _ in cpu_times), statistics.median(
        system for _, system in cpu_times
    )


@contextmanager
def hide_existing_objects() -> Generator[None]:
    """Hide the objects of the benchmark itself from the garbage collector, which stays on."""
    hidden = gc.get_freeze_count()  # by the caller, who also unfreezes them
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not hidden:
            gc.unfreeze()
