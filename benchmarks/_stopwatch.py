"""How long one run of a function takes; on the standard library alone, since the peers use it too."""

import gc
import math
import resource
import statistics
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

SHORTEST: Final = 0.05  # seconds of one lap: three orders above what the clock and the loop around it cost
BEST_OF: Final = 3  # laps of a round; the best one is the one that was disturbed least
LONG: Final = 1.0  # seconds of a lap that needs no second one: what disturbs it is small beside it


class Stopwatch:
    """A probe: each call gives the seconds that one run of `run` takes, the best of a few laps.

    It is CPU time, which other processes disturb least; a contender that waits for another process
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
        self._spent: list[tuple[float, float]] = []

    def __call__(self) -> float:
        with own_garbage_only():
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
    def spent(self) -> tuple[float, float]:
        """Seconds of CPU of one run, by itself and in the system: the medians of the calls until now."""
        return middle(self._spent) or (0.0, 0.0)

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


class Children:
    """The CPU time of processes that this one starts, waits for and counts, each of them an event."""

    def __init__(self) -> None:
        self._spent: list[tuple[float, float]] = []

    @contextmanager
    def count(self) -> Generator[None]:
        """Count the process that is started and waited for meanwhile."""
        usage_before = resource.getrusage(resource.RUSAGE_CHILDREN)
        yield
        usage_after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._spent.append(
            (usage_after.ru_utime - usage_before.ru_utime, usage_after.ru_stime - usage_before.ru_stime)
        )

    @property
    def spent(self) -> tuple[float, float] | None:
        """Seconds of CPU of a process, by itself and in the system: the medians."""
        return middle(self._spent)


def middle(spent: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the medians of both figures; None if there are none."""
    if not spent:
        return None
    return statistics.median(user for user, _ in spent), statistics.median(system for _, system in spent)


@contextmanager
def own_garbage_only() -> Generator[None]:
    """Let the collector work as in any program, but hide from it what the benchmark itself keeps around."""
    hidden = gc.get_freeze_count()  # by the caller, who alone knows until when
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not hidden:
            gc.unfreeze()
