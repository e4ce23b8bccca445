"""The arithmetic of a contest, with given figures and clocks."""

import gc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, strategies as st

from benchmarks._measure import ROUNDS, Contest, DeferredProbe, MissingRequirement, Probe, Unit, run_contest
from benchmarks._stopwatch import Stopwatch
from benchmarks.rows.cache import longest_pause

TIME = Unit("s")
RATE = Unit("events/s", more_is_better=True)


def figures(*values: float) -> Probe:
    turns = iter(values)
    return lambda: next(turns)


def fail_on_message(message: str) -> None:
    raise AssertionError(message)


class Clock:
    """A clock that only the measured work advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, costs: Iterator[float]) -> Callable[[], None]:
        def run() -> None:
            self.now += next(costs)

        return run


def forever(cost: float) -> Iterator[float]:
    while True:
        yield cost


@pytest.fixture
def nothing_hidden() -> Iterator[None]:
    """Unfreeze the objects that the suite hides from the garbage collector."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_hidden")
def test_a_pause_is_that_of_the_collector_and_zero_if_it_never_ran() -> None:
    objects: list[object] = []
    assert longest_pause(lambda: objects.append("x"))() == 0.0
    assert longest_pause(lambda: [[index] for index in range(100_000)])() > 0.0
    assert gc.get_freeze_count() == 0


def test_there_are_at_least_seven_rounds() -> None:
    assert ROUNDS >= 7


def test_the_ratio_is_the_median_of_the_rounds_ratios_and_not_the_ratio_of_the_medians() -> None:
    contest = Contest(ours=figures(9, 1, 10, 100), baseline=figures(9, 2, 40, 300))
    result = run_contest(contest, TIME, fail_on_message, rounds=3)
    assert result.ours == 10
    assert result.baseline is not None
    assert (result.baseline.figure, result.baseline.ratio) == (40, 3)
    assert result.baseline.spread == (2, 4)


def test_the_first_round_warms_up_and_does_not_count() -> None:
    result = run_contest(Contest(ours=figures(1000, 1, 2, 3)), TIME, fail_on_message, rounds=3)
    assert (result.ours, result.span) == (2, (1, 3))


@given(ours=st.floats(0.001, 1000), other=st.floats(0.001, 1000))
def test_a_ratio_above_1_is_a_win_for_times_and_for_rates(ours: float, other: float) -> None:
    assert (TIME.advantage(ours, other) > 1) == (other / ours > 1)
    assert (RATE.advantage(ours, other) > 1) == (ours / other > 1)


def test_contenders_take_turns() -> None:
    turns: list[str] = []

    def turn(name: str) -> Probe:
        def probe() -> float:
            turns.append(name)
            return 1.0

        return probe

    run_contest(
        Contest(ours=turn("ours"), baseline=turn("baseline"), peers={"peer": turn("peer")}),
        TIME,
        fail_on_message,
        rounds=2,
    )
    assert turns == ["ours", "baseline", "peer"] * 3


def test_an_absent_peer_is_reported_and_null_and_the_others_continue() -> None:
    def nowhere() -> Probe:
        raise MissingRequirement("pip could not find it")

    messages: list[str] = []
    peers: dict[str, Probe] = {"gone": DeferredProbe(nowhere), "here": figures(9, 8, 8)}
    result = run_contest(Contest(ours=figures(9, 2, 2), peers=peers), TIME, messages.append, rounds=2)
    assert messages == ["gone is not measured: pip could not find it"]
    assert result.peers["gone"] is None
    here = result.peers["here"]
    assert here is not None
    assert here.ratio == 4


def test_a_peer_that_fails_in_a_later_round_gets_no_figure_at_all() -> None:
    turns = iter((1.0, 1.0))

    def failing() -> float:
        try:
            return next(turns)
        except StopIteration:
            raise MissingRequirement("it died") from None

    messages: list[str] = []
    result = run_contest(Contest(ours=lambda: 1.0, baseline=failing), TIME, messages.append, rounds=7)
    assert result.baseline is None
    assert messages == ["the baseline is not measured: it died"]


def test_the_absence_of_our_contender_is_raised() -> None:
    def nowhere() -> float:
        raise MissingRequirement("not installed")

    with pytest.raises(MissingRequirement, match="not installed"):
        run_contest(Contest(ours=nowhere), TIME, fail_on_message)


def test_no_round_begins_after_the_bound_except_the_minimum() -> None:
    clock, turns = Clock(), 0

    def slow() -> float:
        nonlocal turns
        clock.now += 10
        turns += 1
        return 1.0

    run_contest(Contest(ours=slow), TIME, fail_on_message, bound=5, clock=clock)
    assert turns == 1 + 3  # the first round warms up
    turns = 0
    run_contest(Contest(ours=slow), TIME, fail_on_message, bound=45, clock=clock)
    assert turns == 1 + 4
    turns = 0
    run_contest(Contest(ours=slow), TIME, fail_on_message, bound=5, fewest=1, clock=clock)
    assert turns == 1 + 1


def test_a_slow_run_takes_a_single_lap_per_round() -> None:
    clock, runs = Clock(), 0

    def slow() -> None:
        nonlocal runs
        clock.now += 5
        runs += 1

    stopwatch = Stopwatch(slow, clock=clock)
    assert stopwatch() == 5
    assert stopwatch() == 5
    assert runs == 1 + 2  # one run to find its duration


def test_cpu_time_is_reported_for_contenders_that_measure_it() -> None:
    clock = Clock()
    stopwatch = Stopwatch(clock.work(forever(1.0)), clock=clock)
    result = run_contest(Contest(ours=stopwatch, baseline=lambda: 2.0), TIME, fail_on_message, rounds=1)
    assert set(result.also["µs of CPU an event"]) == {"ours"}
    assert set(result.also["of which in the system"]) == {"ours"}


def test_a_lazy_probe_is_created_once_in_its_first_round() -> None:
    probes: list[Probe] = []

    def make() -> Probe:
        probes.append(figures(1, 2, 3))
        return probes[-1]

    probe = DeferredProbe(make)
    assert not probes
    assert [probe(), probe(), probe()] == [1, 2, 3]
    assert len(probes) == 1


def test_a_figure_of_zero_is_not_better_than_zero() -> None:
    result = run_contest(Contest(ours=lambda: 0.0, baseline=lambda: 4.0), TIME, fail_on_message)
    assert result.baseline is not None
    assert (result.baseline.figure, result.baseline.ratio, result.baseline.spread) == (4.0, None, None)


def test_a_lap_has_its_minimum_duration_and_the_figure_is_that_of_a_single_run() -> None:
    clock = Clock()
    stopwatch = Stopwatch(clock.work(forever(0.001)), clock=clock, shortest=0.1, best_of=3)
    assert stopwatch() == pytest.approx(0.001)
    start = clock.now
    assert stopwatch() == pytest.approx(0.001)
    assert 0.3 <= clock.now - start <= 0.5


def test_work_that_lasts_long_enough_is_run_once_per_lap() -> None:
    clock = Clock()
    stopwatch = Stopwatch(clock.work(forever(0.5)), clock=clock, shortest=0.1, best_of=2)
    assert stopwatch() == 0.5
    assert clock.now == 1.5  # one lap to calibrate, two to measure


def test_the_best_lap_counts() -> None:
    clock = Clock()
    costs = iter((0.9, 0.3, 0.2, 0.4))
    assert Stopwatch(clock.work(costs), clock=clock, shortest=0.1, best_of=3)() == pytest.approx(0.2)


def test_calibration_ends_with_a_clock_too_coarse_for_a_single_run() -> None:
    clock = Clock()
    ticks = iter(range(10**9))

    def run() -> None:
        clock.now = next(ticks) // 1000 / 100  # a coarse clock: it advances every thousandth run

    stopwatch = Stopwatch(run, clock=clock, shortest=0.1, best_of=1)
    assert stopwatch() == pytest.approx(1e-5, rel=0.2)


@pytest.mark.usefixtures("nothing_hidden")
def test_the_collector_runs_but_does_not_walk_older_objects() -> None:
    clock = Clock()
    collector_states: list[tuple[bool, bool]] = []

    def run() -> None:
        clock.now += 1.0
        collector_states.append((gc.isenabled(), gc.get_freeze_count() > 0))

    Stopwatch(run, clock=clock)()
    assert set(collector_states) == {(True, True)}
    assert gc.get_freeze_count() == 0
