"""Contenders that alternate, and the ratios of their rounds."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Final, Protocol, runtime_checkable

import msgspec

ROUNDS: Final = 7
FEWEST: Final = 3  # minimum of rounds, even for slow contenders; a quick run needs one
_BASELINE: Final = "the baseline"  # its name among the contenders and in messages

Probe = Callable[[], float]
"""One round of one contender: its figure, in the row's unit."""

Further = Mapping[str, Mapping[str, float | None]]


@runtime_checkable
class MeteredProbe(Protocol):
    """A probe that knows the CPU time of its rounds."""

    def __call__(self) -> float: ...

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Seconds an event, by the process itself and in the system; None before the first round."""


class MissingRequirement(Exception):
    """A requirement of a measurement is missing on this machine; the message explains which."""


class Unit(msgspec.Struct, frozen=True):
    """A unit, and whether more is better."""

    name: str
    more_is_better: bool = False

    def advantage(self, ours: float, other: float) -> float:
        """Return the factor by which kubeproto is better: above 1 it wins, for each unit."""
        return ours / other if self.more_is_better else other / ours


class Contest(msgspec.Struct, frozen=True):
    """The contenders of a row: kubeproto, the baseline, peers, and further figures."""

    ours: Probe
    baseline: Probe | None = None
    peers: Mapping[str, Probe] = {}
    also: Callable[[], Further] | None = None
    rounds: int = ROUNDS  # at most, besides the round that warms up


class Comparison(msgspec.Struct, frozen=True):
    """The result of another contender: its figure, and the factor by which kubeproto is better."""

    figure: float
    ratio: float | None
    spread: tuple[float, float] | None


class Result(msgspec.Struct, frozen=True):
    """The results of a contest, each as the median of its rounds."""

    ours: float
    span: tuple[float, float]
    baseline: Comparison | None
    peers: Mapping[str, Comparison | None]
    also: Further


class DeferredProbe:
    """A probe that is made in its first round, where `MissingRequirement` affects only this contender."""

    def __init__(self, make: Callable[[], Probe]) -> None:
        self._make = make
        self._probe: Probe | None = None

    def __call__(self) -> float:
        if self._probe is None:
            self._probe = self._make()
        return self._probe()

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Return the CPU time of the probe."""
        return self._probe.cpu_times if isinstance(self._probe, MeteredProbe) else None


def run_contest(
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
    """Run the contenders alternately.

    A contender with a `MissingRequirement` is omitted and reported. After `fewest` rounds, no further round
    begins once `bound` seconds have passed.
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
        if turn == 0:  # warms caches, starts peers, calibrates: not counted
            continue
        ours.append(mine)
        for name, figure in theirs.items():
            figures[name].append(figure)
    standings = {name: _comparison(ours, figures[name], unit) if name in others else None for name in figures}
    also: Further = contest.also() if contest.also else {}
    return Result(
        ours=median(ours),
        span=(min(ours), max(ours)),
        baseline=standings.pop(_BASELINE, None),
        peers=standings,
        also={**also, **_cpu({"ours": contest.ours, **others})},
    )


def _cpu(probes: Mapping[str, Probe]) -> Further:
    """Return the CPU time of each contender for an event, which is stable on a shared machine."""
    cpu_times = {name: probe.cpu_times for name, probe in probes.items() if isinstance(probe, MeteredProbe)}
    measured = {name: times for name, times in cpu_times.items() if times is not None}
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
        except MissingRequirement as reason:
            log(f"{name} is not measured: {reason}")
            del others[name]
    return figures


def _comparison(ours: list[float], theirs: list[float], unit: Unit) -> Comparison:
    if min(*ours, *theirs) <= 0:  # zero has no factor
        return Comparison(median(theirs), None, None)
    ratios = [unit.advantage(mine, other) for mine, other in zip(ours, theirs, strict=True)]
    return Comparison(median(theirs), median(ratios), (min(ratios), max(ratios)))
