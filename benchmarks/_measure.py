"""Contenders that take turns, and the arithmetic that makes a ratio of their rounds."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Final, Protocol, runtime_checkable

import msgspec

ROUNDS: Final = 7
FEWEST: Final = 3  # rounds, however slow a contender is; a quick run is content with one
_BASELINE: Final = "the baseline"  # its name among the contenders and in what is said

Probe = Callable[[], float]
"""One round of one contender: its figure, in the row's unit."""

Further = Mapping[str, Mapping[str, float | None]]


@runtime_checkable
class Metered(Protocol):
    """A probe that knows the CPU time of its rounds."""

    def __call__(self) -> float: ...

    @property
    def spent(self) -> tuple[float, float] | None:
        """Seconds an event, by the process itself and in the system; None before the first round."""


class Absent(Exception):
    """What a measurement needs is not on this machine; the message says what, for a person."""


class Unit(msgspec.Struct, frozen=True):
    """A unit, and which end of it is good."""

    name: str
    more_is_better: bool = False

    def times_better(self, ours: float, other: float) -> float:
        """How many times better ours is: above 1 we win, whatever the unit."""
        return ours / other if self.more_is_better else other / ours


class Contest(msgspec.Struct, frozen=True):
    """Who is measured: ours, what it is compared with, other clients; and what else is worth telling."""

    ours: Probe
    baseline: Probe | None = None
    peers: Mapping[str, Probe] = {}
    also: Callable[[], Further] | None = None
    rounds: int = ROUNDS  # at most, beside the one that warms up


class Standing(msgspec.Struct, frozen=True):
    """What came out for another contender: its figure, and how many times better ours is."""

    figure: float
    ratio: float | None
    spread: tuple[float, float] | None


class Result(msgspec.Struct, frozen=True):
    """What came out of a contest: ours and the others, each as the median of its rounds."""

    ours: float
    span: tuple[float, float]
    baseline: Standing | None
    peers: Mapping[str, Standing | None]
    also: Further


class Late:
    """A probe that is made in its first round, where `Absent` costs nobody but this contender."""

    def __init__(self, make: Callable[[], Probe]) -> None:
        self._make = make
        self._probe: Probe | None = None

    def __call__(self) -> float:
        if self._probe is None:
            self._probe = self._make()
        return self._probe()

    @property
    def spent(self) -> tuple[float, float] | None:
        """That of the probe."""
        return self._probe.spent if isinstance(self._probe, Metered) else None


def hold(
    contest: Contest,
    unit: Unit,
    log: Callable[[str], None],
    *,
    rounds: int | None = None,
    warm: bool = True,
    bound: float | None = None,
    fewest: int = FEWEST,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Let the contenders take turns. One that is `Absent` is left out, and that is said.

    After `bound` seconds no further round begins, unless there were fewer than `fewest`.
    """
    others = dict(contest.peers)
    if contest.baseline:
        others = {_BASELINE: contest.baseline} | others
    ours: list[float] = []
    figures: dict[str, list[float]] = {name: [] for name in others}
    started = clock()
    for turn in range(0 if warm else 1, (rounds or contest.rounds) + 1):
        if bound is not None and len(ours) >= fewest and clock() - started > bound:
            break
        mine = contest.ours()
        theirs = _turn(others, log)
        if turn == 0:  # warms caches, starts peers, calibrates: it does not count
            continue
        ours.append(mine)
        for name, figure in theirs.items():
            figures[name].append(figure)
    standings = {name: _standing(ours, figures[name], unit) if name in others else None for name in figures}
    also: Further = contest.also() if contest.also else {}
    return Result(
        ours=median(ours),
        span=(min(ours), max(ours)),
        baseline=standings.pop(_BASELINE, None),
        peers=standings,
        also={**also, **_cpu({"ours": contest.ours, **others})},
    )


def _cpu(probes: Mapping[str, Probe]) -> Further:
    """What each spent on an event: it holds on a machine that is shared, where seconds do not."""
    spent = {name: probe.spent for name, probe in probes.items() if isinstance(probe, Metered)}
    measured = {name: times for name, times in spent.items() if times is not None}
    if not measured:
        return {}
    return {
        "µs of CPU an event": {name: sum(times) * 1e6 for name, times in measured.items()},
        "of which in the system": {name: times[1] * 1e6 for name, times in measured.items()},
    }


def _turn(others: dict[str, Probe], log: Callable[[str], None]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, probe in tuple(others.items()):
        try:
            figures[name] = probe()
        except Absent as reason:
            log(f"{name} is not measured: {reason}")
            del others[name]
    return figures


def _standing(ours: list[float], theirs: list[float], unit: Unit) -> Standing:
    if min(*ours, *theirs) <= 0:  # nothing can be so many times better than nothing
        return Standing(median(theirs), None, None)
    ratios = [unit.times_better(mine, other) for mine, other in zip(ours, theirs, strict=True)]
    return Standing(median(theirs), median(ratios), (min(ratios), max(ratios)))
