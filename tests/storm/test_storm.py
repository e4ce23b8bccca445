"""Small storms with fixed seeds, runs that had findings in the past, and defects that a storm must detect."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from .broken import VARIANTS, Variant, broken_finalizer
from .episode import play
from .machines import play_machines
from .plan import Backend, Plan, draw, read, write
from .provider import Provider
from .shrinking import in_words, kind_of, shrink

HERE: Final = Path(__file__).resolve().parent
FOUND: Final = sorted((HERE / "found").glob("*.json"))
LONG: Final = 1800.0  # seconds of virtual time
thorough = pytest.mark.thorough("a second or more of storm for each")


def small(seed: int, *, backend: Backend = "asyncio", duration: float = 90.0, **changes: Any) -> Plan:
    """A short storm."""
    return replace(draw(seed, backend=backend, duration=duration), **changes)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_small_storm_finds_nothing(backend: Backend) -> None:
    for seed in (1, 2):
        outcome = play(small(seed, backend=backend, replicas=seed % 2 + 1))
        assert not outcome.violations, in_words(play(outcome.plan, keep=True))
        assert outcome.faults > 20


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_seed_repeats_a_run_exactly(backend: Backend) -> None:
    plan = small(3, backend=backend, duration=40.0, replicas=2)
    first, second = play(plan), play(plan)
    assert first.digest == second.digest
    assert first.counts == second.counts
    assert play(replace(plan, seed=4)).digest != first.digest


@thorough
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_seed_repeats_half_an_hour_exactly(backend: Backend) -> None:
    plan = replace(draw(3025, backend=backend, duration=LONG), duration=LONG, replicas=2)
    assert max(planned.time for planned in plan.events) > 0.4 * LONG
    first, second = play(plan), play(plan)
    assert (first.digest, first.counts, first.requests) == (second.digest, second.counts, second.requests)


@thorough
@pytest.mark.parametrize("arguments", ["5:7:1 40", f"3025:3026:1 {LONG} asyncio", f"3025:3026:1 {LONG} trio"])
def test_a_seed_repeats_a_run_in_another_process(arguments: str) -> None:
    environ = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(HERE.parent)}
    seeds, duration, *backend = arguments.split()
    command = [sys.executable, "-m", "storm", "--inside", seeds, "--duration", duration]
    command += ["--backend", *backend] if backend else []
    runs = [
        subprocess.run(command, env=environ, check=True, capture_output=True, text=True) for _ in range(2)
    ]
    lines = [[json.loads(line) for line in run.stdout.splitlines()] for run in runs]
    assert [line["digest"] for line in lines[0]] == [line["digest"] for line in lines[1]]
    assert [line["found"] for line in lines[0]] == [[] for _ in lines[0]]
    assert lines[0][0]["arms"] == lines[1][0]["arms"]
    assert sum(lines[0][0]["arms"].values()) > 1000


@thorough
def test_an_interrupted_storm_continues_with_the_same_result(tmp_path: Path) -> None:
    def command(folder: str) -> list[str]:
        seeds = ["--seeds", "5:10", "--processes", "1", "--duration", "20", "--state", str(tmp_path / folder)]
        return [sys.executable, "-m", "storm", *seeds]

    environ = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(HERE.parent)}
    process = subprocess.Popen(command("some"), env=environ, stdout=subprocess.PIPE, text=True)
    while not list((tmp_path / "some").glob("*.json")):
        assert process.poll() is None, "the run ended before it stored any progress"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    if "5 runs" not in output:  # otherwise all runs were complete before the signal
        assert output.endswith("the same command goes on from here\n")
    remainder, uninterrupted = (
        subprocess.run(command(folder), env=environ, capture_output=True, text=True, check=True).stdout
        for folder in ("some", "all")
    )
    assert "going on after" in remainder or "5 runs" in output
    assert "going on after" not in uninterrupted
    assert (
        remainder.partition("\nfaults:")[2].partition("\nworker")[0]
        == uninterrupted.partition("\nfaults:")[2].partition("\nworker")[0]
    )
    assert list((tmp_path / "some").glob("*.json")) == []  # there was no finding, so no file is left


@thorough
@pytest.mark.parametrize("broken", ["", "broken_memory"])
def test_memory_that_grows_from_run_to_run_is_reported(broken: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "storm", "--seeds", "0:30", "--processes", "1", "--duration", "30"]
    command += ["--state", str(tmp_path), "--broken", broken]
    environ = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(HERE.parent)}
    completed = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    grown = "failed: seed -1: memory  more than 20% above its level after the first tenth"
    assert (completed.returncode, grown in completed.stdout) == (bool(broken), bool(broken)), (
        completed.stdout[-3000:]
    )


@thorough
def test_a_storm_of_some_hours_ends_when_they_have_passed(tmp_path: Path) -> None:
    arguments = [
        "--seeds",
        "5:9999",
        "--hours",
        "0.0005",
        "--processes",
        "1",
        "--duration",
        "5",
        "--state",
        str(tmp_path),
    ]
    environ = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(HERE.parent)}
    run = subprocess.run(
        [sys.executable, "-m", "storm", *arguments], env=environ, capture_output=True, text=True, check=True
    )
    progress_line = [line for line in run.stdout.splitlines() if " a CPU second, " in line][-1]
    runs, seconds = int(progress_line.split()[0]), float(progress_line.split(", ")[3].split()[0])
    assert runs >= 1
    assert seconds >= 1


@thorough
def test_a_storm_of_fixed_seeds_finds_nothing() -> None:
    failed: list[str] = []
    for seed in range(100, 112):
        outcome = play(draw(seed, duration=300.0))
        failed += [f"seed {seed}: {violation}" for violation in outcome.violations[:1]]
    assert not failed


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_storm_ends_though_no_request_ever_reaches_the_cluster(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mistaken(_: Provider) -> None:
        raise NameError("a mistake in the plugin")

    monkeypatch.setattr(Provider, "run", mistaken)
    outcome = play(small(3, backend=backend, credentials="exec", users=1, pace=5.0))
    assert "s after the last fault: follower 0 (" in outcome.violations[-1]
    assert outcome.requests == 0


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_past_findings_of_storms_are_fixed(path: Path) -> None:
    outcome = play(read(path.read_bytes()))
    assert not outcome.violations, in_words(play(outcome.plan, keep=True))


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 20), marks=thorough)], ids=str)
def test_random_events_find_nothing_in_the_machines(seeds: range) -> None:
    assert [finding for seed in seeds for finding in play_machines(seed)] == []


def test_a_plan_survives_its_file() -> None:
    plan = replace(draw(9), only=frozenset({("follower 1", 4)}))
    assert read(write(plan)) == plan


@thorough
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.make.__name__)
def test_a_storm_detects_a_defect(variant: Variant) -> None:
    changes: dict[str, Any] = {"replicas": 2, "users": 3, "pace": 0.5} | variant.changes
    all_violations: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        variant.make(patch)
        for seed in variant.seeds:
            all_violations += play(small(seed, duration=variant.duration, **changes)).violations
            if any(variant.finding in violation for violation in all_violations):
                return
    raise AssertionError(f"no violation contains {variant.finding!r}: {all_violations[:5]}")


@thorough
def test_a_failing_run_is_shrunk_to_its_necessary_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    broken_finalizer(monkeypatch)
    outcome = next(
        candidate for seed in range(20, 30)
        if (candidate := play(small(seed, replicas=2, users=3, pace=0.5, duration=60.0))).violations
    )  # fmt: skip
    least = shrink(outcome, runs=25)
    assert kind_of(least.violations[0]) == kind_of(outcome.violations[0])
    assert len(least.struck) + len(least.plan.events) < (len(outcome.struck) + len(outcome.plan.events)) / 2
    assert "went before its finalizer" in in_words(least)
