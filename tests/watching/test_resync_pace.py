"""The backoff and the bucket."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kubeproto.watching._resync_pace import NOW, Wait, take_token, wait_after
from kubeproto.watching.resync import Backoff
from kubeproto.wire import Refused, Rejected, Throttled

TIMES = st.floats(0, 1e6)


@pytest.mark.parametrize(
    ("failures", "wait"),
    [(0, 0.0), (1, 0.8), (2, 1.6), (3, 3.2), (6, 25.6), (7, 30.0), (8, 30.0), (5000, 30.0), (10**9, 30.0)],
)
def test_waits_double_up_to_the_cap_and_never_overflow(failures: int, wait: float) -> None:
    assert Backoff()(failures) == wait


def test_the_retry_after_of_a_server_is_a_lower_limit_to_which_jitter_is_added() -> None:
    assert wait_after(Throttled("", 429, 5.0), 1, Backoff()) == Wait(5.0, 0.8)
    assert wait_after(Throttled("", 429, 0.1), 1, Backoff()) == Wait(0.8, 0.8)
    assert wait_after(Throttled("", 429, 1e9), 1, Backoff()) == Wait(3600.0, 0.8)


def test_a_failure_that_people_must_repair_waits_ten_seconds_at_least() -> None:
    assert wait_after(Refused("", 403), 1, Backoff()) == Wait(10.0, 10.0)
    assert wait_after(Rejected("", 400), 7, Backoff(jitter=0.0)) == Wait(30.0, 0.0)


def test_without_a_failure_there_is_no_wait() -> None:
    assert wait_after(None, 0, Backoff()) == NOW == Wait(0.0, 0.0)


def test_ten_requests_go_out_immediately_and_then_a_request_per_second() -> None:
    bucket, times = 0.0, list[float]()
    now = 50.0
    for _ in range(13):
        now, bucket = take_token(bucket, now)
        times.append(now)
    assert times == [50.0] * 10 + [51.0, 52.0, 53.0]


def test_a_bucket_fills_again() -> None:
    bucket, now = 0.0, 50.0
    for _ in range(10):
        now, bucket = take_token(bucket, now)
    assert take_token(bucket, 55.0) == (55.0, 61.0)
    assert take_token(bucket, 1000.0) == (1000.0, 1001.0)


@given(st.lists(st.floats(0, 20), min_size=12, max_size=80))
def test_no_sequence_of_requests_gets_more_than_the_bucket_holds(pauses: list[float]) -> None:
    now, bucket, times = 0.0, 0.0, list[float]()
    for pause in pauses:
        now, bucket = take_token(bucket, now + (pause if pause > 15 else 0.0))
        times.append(now)
    for i, start in enumerate(times):
        for n, later in enumerate(times[i:], start=1):
            assert n <= 10 + (later - start) + 1e-6


@given(TIMES, TIMES)
def test_a_clock_that_is_set_back_delays_requests_no_longer_than_an_empty_bucket(
    bucket: float, now: float
) -> None:
    send_time, next_bucket = take_token(bucket, now)
    assert now <= send_time <= now + 1.0 + 1e-6
    assert next_bucket <= now + 11.0 + 1e-6
