"""The page on speed is filled with the figures of a run."""

from __future__ import annotations

from typing import Final

import pytest

from benchmarks._measure import Comparison
from benchmarks._results import Outcome, Run
from benchmarks._speed_page import IncompleteRun, speed_page

KOPF: Final = Comparison(figure=1450.0, ratio=27.64, spread=None)
KUBE_RS: Final = Comparison(figure=44_870.0, ratio=0.849, spread=None)
ROW: Final = Outcome(
    name="controller.throughput",
    summary="",
    unit="reconciles/s",
    more_is_better=True,
    ours=38_076.7,
    span=(37_000.0, 39_000.0),
    against="kopf",
    baseline=KOPF,
    peers={"kube-rs": KUBE_RS, "client-go, JSON": None},
    also={"µs of CPU an event": {"ours": 28.94, "the baseline": 834.2, "kube-rs": 35.87}},
)


def run(*rows: Outcome, quick: bool = False) -> Run:
    return Run(started="2026-01-01 00:00 UTC", quick=quick, machine={"cores": "2"}, versions={}, rows=rows)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{controller.throughput}", "27.6"),
        ("{controller.throughput:.0f} times", "28 times"),
        ("{controller.throughput/kube-rs} times", "0.85 times"),
        ("{controller.throughput=ours}", "38,000"),
        ("{controller.throughput=kopf} and {controller.throughput=kube-rs}", "1,400 and 45,000"),
        ("{controller.throughput!ours}, {controller.throughput!kopf}", "28.9, 830"),
        ("{controller.throughput!kube-rs:.0f}", "36"),
        ("as it stands", "as it stands"),
    ],
)
def test_a_figure_is_that_of_the_row(text: str, filled: str) -> None:
    assert speed_page(run(ROW), text) == filled


@pytest.mark.parametrize(
    "missing",
    [
        "{decode.pods.view}",
        "{controller.throughput/kr8s}",
        "{controller.throughput=client-go, JSON}",
        "{controller.throughput!kr8s}",
    ],
)
def test_a_figure_that_the_run_does_not_have_is_named(missing: str) -> None:
    with pytest.raises(IncompleteRun, match="the run has no ") as refused:
        speed_page(run(ROW), f"ours is {missing} times")
    assert missing in str(refused.value)


def test_a_quick_run_has_no_figures_for_the_page() -> None:
    with pytest.raises(IncompleteRun, match="quick"):
        speed_page(run(ROW, quick=True), "{controller.throughput}")
