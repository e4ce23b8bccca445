"""The retry policy: each cell of the table of its docstring, and the times that it plans."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kubeproto.wire import (
    CONFLICT_BACKOFF,
    CONFLICT_RETRY,
    NO_RETRIES,
    Broken,
    Conflicted,
    ConflictPolicy,
    Expired,
    Garbled,
    GiveUp,
    Outcome,
    Refused,
    Rejected,
    Retry,
    RetryPolicy,
    Safety,
    ServerFailed,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
    Unreadable,
    Unsupported,
)

POLICY = RetryPolicy()


def retries(level: Safety, outcome: Outcome, policy: RetryPolicy = POLICY) -> int:
    """Return how often a request is sent again if every attempt ends in the same outcome."""
    attempt = 1
    while isinstance(policy.decide(level, outcome, attempt, 0.0, jitter=0.0), Retry):
        attempt += 1
    return attempt - 1


@pytest.mark.parametrize(
    ("outcome", "read", "guarded", "once"),
    [
        (Throttled("busy", 429, 1.0), 10, 10, 10),
        (Throttled("busy", 429), 4, 4, 0),
        (ServerFailed("soon", 500, 1.0), 10, 10, 10),
        (ServerFailed("soon", 503, 1.0), 10, 10, 10),
        (ServerFailed("perhaps done", 504, 1.0), 10, 10, 0),
        (ServerFailed("a webhook", 500), 4, 0, 0),
        (ServerFailed("a balancer", 502), 4, 4, 0),
        (ServerFailed("a balancer", 503), 4, 4, 0),
        (ServerFailed("perhaps done", 504), 4, 4, 0),
        (TooLarge("ahead", 504, 1.0), 10, 10, 0),
        (TooLarge("ahead", 504), 4, 4, 0),
        (Unreachable("refused"), 4, 4, 4),
        (Broken("reset by peer"), 4, 4, 0),
        (TimedOut("10 s"), 0, 0, 0),
        (Garbled("no gzip"), 0, 0, 0),
        (Expired("too old", 410), 0, 0, 0),
        (Expired("too old", 410, 1.0), 0, 0, 0),
        (Unreadable("broken object", 500), 0, 0, 0),
        (Refused("forbidden", 403), 0, 0, 0),
        (Conflicted("modified", 409), 0, 0, 0),
        (Conflicted("modified", 409, 1.0), 0, 0, 0),
        (Unsupported("old", 422), 0, 0, 0),
        (Rejected("invalid", 422), 0, 0, 0),
        (Rejected("moved, come back", 302, 1.0), 0, 0, 0),
    ],
    ids=repr,
)
def test_rq_10_rq_11_rq_12_rq_13_rq_14_rq_15_rq_16_rq_17_rq_18_rq_19_rq_20_each_cell_of_the_table(
    outcome: Outcome, read: int, guarded: int, once: int
) -> None:
    assert retries(Safety.READ, outcome) == read
    assert retries(Safety.GUARDED, outcome) == guarded
    assert retries(Safety.NOT_IDEMPOTENT, outcome) == once


def test_rq_02_with_retries_switched_off_nothing_is_sent_again() -> None:
    for outcome in (Throttled("busy", 429, 1.0), Unreachable("refused"), Broken("reset")):
        decision = NO_RETRIES.decide(Safety.READ, outcome, 1, 0.0, jitter=0.0)
        assert decision == GiveUp("retries are switched off")


def test_rq_03_a_lost_connection_is_retried_after_a_growing_delay() -> None:
    times = [POLICY.decide(Safety.READ, Broken("EOF"), n, 100.0, jitter=0.0) for n in range(1, 6)]
    assert times[:4] == [Retry(100.2), Retry(100.4), Retry(100.8), Retry(101.6)]
    assert times[4] == GiveUp("4 retries are used up")


def test_rq_04_a_429_with_retry_after_is_retried_then() -> None:
    assert POLICY.decide(Safety.NOT_IDEMPOTENT, Throttled("busy", 429, 3.0), 1, 100.0, jitter=0.0) == Retry(
        103.0
    )


def test_rq_05_a_5xx_with_retry_after_is_retried_then() -> None:
    assert POLICY.decide(
        Safety.NOT_IDEMPOTENT, ServerFailed("soon", 503, 3.0), 1, 100.0, jitter=0.0
    ) == Retry(103.0)


def test_rq_06_without_retry_after_a_write_is_not_retried() -> None:
    for outcome in (Throttled("busy", 429), ServerFailed("down", 503)):
        assert isinstance(POLICY.decide(Safety.NOT_IDEMPOTENT, outcome, 1, 0.0, jitter=0.0), GiveUp)


def test_rq_08_after_ten_retries_a_server_with_retry_after_is_given_up() -> None:
    busy = Throttled("busy", 429, 1.0)
    assert isinstance(POLICY.decide(Safety.READ, busy, 10, 0.0, jitter=0.0), Retry)
    assert POLICY.decide(Safety.READ, busy, 11, 0.0, jitter=0.0) == GiveUp("10 retries are used up")


def test_rq_23_a_reset_connection_is_retried_for_a_get_and_not_for_a_post() -> None:
    reset = Broken("connection reset by peer")
    assert isinstance(POLICY.decide(Safety.READ, reset, 1, 0.0, jitter=0.0), Retry)
    assert isinstance(POLICY.decide(Safety.NOT_IDEMPOTENT, reset, 1, 0.0, jitter=0.0), GiveUp)


def test_a_guarded_write_is_repeated_and_the_uncertainty_is_reported() -> None:
    decide = POLICY.decide
    assert decide(Safety.GUARDED, Broken("reset"), 1, 0.0, jitter=0.0) == Retry(0.2, uncertain=True)
    assert decide(Safety.GUARDED, ServerFailed("x", 503), 1, 0.0, jitter=0.0) == Retry(0.2, uncertain=True)
    assert decide(Safety.GUARDED, Throttled("x", 429), 1, 0.0, jitter=0.0) == Retry(0.2)
    assert decide(Safety.GUARDED, Unreachable("x"), 1, 0.0, jitter=0.0) == Retry(0.2)
    assert decide(Safety.READ, Broken("reset"), 1, 0.0, jitter=0.0) == Retry(0.2)


def test_retry_after_is_a_lower_limit_and_so_is_the_backoff() -> None:
    zero = Throttled("busy", 429, 0.0)
    throttled = Throttled("busy", 429, 1.0)
    assert POLICY.decide(Safety.READ, zero, 1, 0.0, jitter=0.0) == Retry(0.2)
    assert POLICY.decide(Safety.READ, throttled, 5, 0.0, jitter=0.0) == Retry(3.2)
    assert POLICY.decide(Safety.READ, throttled, 1, 0.0, jitter=0.5) == Retry(1.1)


def test_a_retry_after_of_an_hour_is_not_awaited() -> None:
    decision = POLICY.decide(Safety.READ, Throttled("busy", 429, 3600.0), 1, 0.0, jitter=0.0)
    assert decision == GiveUp("the server asks for 3600 s, more than 60")


def test_no_retry_is_planned_after_the_deadline() -> None:
    busy = Throttled("busy", 429, 3.0)
    decide = POLICY.decide
    assert decide(Safety.READ, busy, 1, 10.0, jitter=0.0, deadline=13.1) == Retry(13.0)
    assert decide(Safety.READ, busy, 1, 10.0, jitter=0.0, deadline=13.0) == GiveUp(
        "the deadline comes before the next attempt"
    )


def test_the_five_thousandth_attempt_still_has_a_delay() -> None:
    patient = RetryPolicy(max_retries=10_000)
    assert patient.decide(Safety.READ, Broken("EOF"), 5_000, 0.0, jitter=0.0) == Retry(5.0)
    stubborn = ConflictPolicy(max_attempts=10_000, factor=5.0)
    assert stubborn.decide(Conflicted("x", 409), 5_000, 0.0, jitter=0.0) == Retry(5.0)


KINDS: tuple[type[Outcome], ...] = (
    Throttled, ServerFailed, TooLarge, Broken, Unreachable, TimedOut, Rejected, Expired,
)  # fmt: skip


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    kind = draw(st.sampled_from(KINDS))
    code = draw(st.sampled_from([0, 408, 429, 500, 502, 503, 504]))
    return kind("why", code, draw(st.none() | st.floats(0, 1e5)))


@given(
    st.sampled_from(Safety),
    outcomes(),
    st.integers(1, 20),
    st.floats(0, 0.999),
    st.none() | st.floats(0, 100),
)
def test_a_plan_is_never_early_never_late_and_never_immediate(
    level: Safety, outcome: Outcome, attempt: int, jitter: float, deadline: float | None
) -> None:
    decision = POLICY.decide(level, outcome, attempt, 0.0, jitter=jitter, deadline=deadline)
    if isinstance(decision, Retry):
        assert decision.at >= max(POLICY.initial_delay, outcome.retry_after or 0.0)
        assert decision.at < (
            deadline if deadline is not None else POLICY.max_retry_after + 2 * POLICY.max_delay
        )


def conflicts(policy: ConflictPolicy, n: int) -> tuple[int, list[float]]:
    """Return the number of calls if the first n of them conflict, and the delays between them."""
    delays: list[float] = []
    for attempt in range(1, n + 1):
        match policy.decide(Conflicted("modified", 409), attempt, 0.0, jitter=0.0):
            case Retry(at=delay):
                delays.append(delay)
            case GiveUp():
                return attempt, delays
    return n + 1, delays


def test_rq_35_n_conflicts_cost_n_more_calls_and_only_conflicts_are_retried() -> None:
    assert conflicts(CONFLICT_RETRY, 0) == (1, [])
    assert conflicts(CONFLICT_RETRY, 3) == (4, [0.01, 0.01, 0.01])
    assert conflicts(CONFLICT_RETRY, 99) == (5, [0.01, 0.01, 0.01, 0.01])
    assert conflicts(CONFLICT_BACKOFF, 99) == (4, [0.01, 0.05, 0.25])
    for other in (Rejected("exists", 409), Throttled("busy", 429, 1.0), Broken("reset"), TimedOut("10 s")):
        assert CONFLICT_RETRY.decide(other, 1, 0.0, jitter=0.0) == GiveUp("this is not a conflict")
    jittered = CONFLICT_RETRY.decide(Conflicted("x", 409), 1, 5.0, jitter=0.5)
    assert isinstance(jittered, Retry)
    assert jittered.at == pytest.approx(5.0105)
    late = CONFLICT_RETRY.decide(Conflicted("x", 409), 1, 5.0, jitter=0.0, deadline=5.005)
    assert late == GiveUp("the deadline comes before the next attempt")
