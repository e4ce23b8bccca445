"""The first latency row measures; rows of other percentiles reuse its rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, cast

import pytest

from benchmarks._contenders import ProcessProbe
from benchmarks._measure import MeteredProbe, MissingRequirement, Probe, Unit, run_contest
from benchmarks._peers import PeerProcess, Peers
from benchmarks._rows import LATENCY, Setting
from benchmarks.rows import controller
from benchmarks.rows.controller import LatencySamples

MS = Unit("ms")


class Rounds:
    """A probe with other latencies in each round, which counts its calls."""

    def __init__(self, figure: Callable[[Any], float], worst: Iterator[float]) -> None:
        self.figure, self.worst, self.count = figure, worst, 0

    def __call__(self) -> float:
        self.count += 1
        worst = next(self.worst, None)
        if worst is None:
            raise MissingRequirement("it ended")
        return self.figure({"waits": [1.0] * 50 + [worst] * 50})

    @property
    def cpu_times(self) -> tuple[float, float]:
        return 2.0, 1.0


@pytest.fixture
def setting() -> Iterator[Setting]:
    with ExitStack() as stack:
        yield Setting(quick=True, peers=Peers(lambda _: None), stack=stack)


def started(monkeypatch: pytest.MonkeyPatch, **worst: list[float]) -> list[Rounds]:
    """Replace programs with these rounds."""
    probes: list[Rounds] = []

    def make(figures: list[float]) -> Callable[[Callable[[Any], float]], Probe]:
        def probe(figure: Callable[[Any], float]) -> Probe:
            probes.append(Rounds(figure, iter(figures)))
            return probes[-1]

        return probe

    def paced(*_: object) -> dict[str, LatencySamples]:
        return {name: LatencySamples(make(figures)) for name, figures in worst.items()}

    monkeypatch.setattr(controller, "paced", paced)
    return probes


def test_rows_of_the_same_pace_use_the_same_rounds(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = started(monkeypatch, ours=[90.0, 4.0, 2.0, 3.0], kopf=[80.0, 40.0, 20.0, 30.0])
    first = run_contest(controller.latency(setting, percentile=25), MS, lambda _: None, rounds=3)
    second = run_contest(controller.latency(setting, percentile=99), MS, lambda _: None)
    assert [probe.count for probe in probes] == [4, 4]
    assert (first.ours, first.span) == (1.0, (1.0, 1.0))
    assert (second.ours, second.span) == (3.0, (2.0, 4.0))  # the round that warms up is not counted
    kopf = second.peers["kopf"]
    assert kopf is not None
    assert (kopf.figure, kopf.ratio) == (30.0, 10.0)
    assert second.also["µs of CPU an event"] == {"ours": 3e6, "kopf": 3e6}
    assert first.also[f"{LATENCY} 99 %"] == second.also[f"{LATENCY} 99 %"] == {"ours": 4.0, "kopf": 40.0}


def test_another_pace_is_measured_by_itself(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = started(monkeypatch, ours=[9.0] * 20)
    run_contest(controller.latency(setting, percentile=50), MS, lambda _: None, rounds=3)
    run_contest(
        controller.latency(setting, percentile=50, pace=controller.SLOW_PACE), MS, lambda _: None, rounds=3
    )
    run_contest(controller.latency(setting, percentile=50, course="flooded"), MS, lambda _: None, rounds=3)
    assert [probe.count for probe in probes] == [4, 4, 4]


def test_an_absent_contender_is_absent_in_rows_that_reuse_its_rounds(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(monkeypatch, ours=[9.0] * 20, kopf=[9.0, 9.0])
    messages: list[str] = []
    run_contest(controller.latency(setting, percentile=50), MS, messages.append, rounds=3)
    result = run_contest(controller.latency(setting, percentile=99), MS, messages.append)
    assert result.peers == {"kopf": None}
    assert messages == [
        "kopf is not measured: it ended",
        "kopf is not measured: it was not measured where these rounds were",
    ]


def test_cpu_time_is_divided_among_all_received_events() -> None:
    class Process:
        cpu_times = (2.0, 1.0)  # for each event of the reply

        def run_round(self, _: int) -> dict[str, float]:
            return {"seconds": 1.0}

    process = cast(PeerProcess, Process())
    probe = ProcessProbe(lambda: process, 10, lambda reply: float(reply["seconds"]), "ours", total_events=40)
    assert probe.cpu_times is None
    probe()
    assert isinstance(probe, MeteredProbe)
    assert probe.cpu_times == (0.5, 0.25)
