"""Backoffs, token buckets, and the reasons of status codes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
from hypothesis import given, strategies as st

from kubeproto.control import ExponentialBackoff, Rate
from kubeproto.watching import log_tail, resync
from kubeproto.wire import (
    Broken,
    Conflicted,
    ConflictPolicy,
    Retry,
    RetryPolicy,
    Safety,
    code_of,
    exponential_backoff,
    phrase_of,
    reason_of,
)


def retry(failures: int) -> float:
    decision = RetryPolicy(max_retries=10_000).decide(Safety.READ, Broken("EOF"), failures, 0.0, jitter=0.0)
    assert isinstance(decision, Retry)
    return decision.at


def conflict(failures: int) -> float:
    policy = ConflictPolicy(max_attempts=10_000, factor=5.0)
    decision = policy.decide(Conflicted("x", 409), failures, 0.0, jitter=0.0)
    assert isinstance(decision, Retry)
    return decision.at


def log_of_a_pod(failures: int) -> float:
    state, _ = log_tail.step(
        log_tail.Opening(run=1, open_at=0.0, failures=failures - 1), log_tail.Failed(), 0.0
    )
    assert isinstance(state, log_tail.Opening)
    return state.open_at


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (retry, [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]),
        (conflict, [0.01, 0.05, 0.25, 1.25, 5.0, 5.0, 5.0]),
        (resync.Backoff(), [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]),
        (ExponentialBackoff(), [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32]),
        (log_of_a_pod, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]),
    ],
    ids=["a retry", "a conflict", "the resync", "the queue", "the log of a pod"],
)
def test_backoffs_grow_up_to_their_maximum_and_never_overflow(
    wait: Callable[[int], float], expected: list[float]
) -> None:
    assert [wait(failures) for failures in range(1, 8)] == pytest.approx(expected)
    assert wait(5_000) == max(wait(100), *expected)


@given(st.integers(0, 10**12), st.floats(0, 100), st.floats(0, 1e6), st.sampled_from((1.0, 2.0, 5.0)))
def test_a_backoff_never_decreases_and_never_exceeds_its_maximum(
    failures: int, initial: float, maximum: float, factor: float
) -> None:
    wait = exponential_backoff(failures, initial=initial, maximum=maximum, factor=factor)
    later = exponential_backoff(failures + 1, initial=initial, maximum=maximum, factor=factor)
    assert 0 <= wait <= later <= maximum


@given(st.lists(st.floats(0, 30), max_size=60), st.sampled_from((Rate(0.5), Rate(1.0, burst=10))))
def test_a_bucket_grants_its_burst_and_then_one_token_per_interval(gaps: list[float], rate: Rate) -> None:
    now, bucket, grants = 0.0, -inf, list[float]()
    for gap in gaps:
        now += gap
        bucket = rate.refill(bucket, now)
        now = max(now, rate.next_at(bucket))
        bucket = rate.take(bucket)
        grants.append(now)
    for start, initial in enumerate(grants):
        for count, last in enumerate(grants[start:], 1):
            assert count <= rate.burst + (last - initial) / rate.every + 1e-6


@pytest.mark.parametrize(
    ("code", "reasons"),
    [
        (400, ["BadRequest"]),
        (401, ["Unauthorized"]),
        (403, ["Forbidden"]),
        (404, ["NotFound"]),
        (405, ["MethodNotAllowed"]),
        (406, ["NotAcceptable"]),
        (409, ["Conflict", "AlreadyExists"]),
        (410, ["Gone", "Expired"]),
        (413, ["RequestEntityTooLarge"]),
        (415, ["UnsupportedMediaType"]),
        (422, ["Invalid"]),
        (429, ["TooManyRequests"]),
        (500, ["InternalError", "ServerTimeout", "StorageReadError"]),
        (503, ["ServiceUnavailable"]),
        (504, ["Timeout"]),
    ],
)
def test_the_reason_of_a_code_is_the_first_of_its_reasons(code: int, reasons: list[str]) -> None:
    assert [code_of(reason) for reason in reasons] == [code] * len(reasons)
    assert reason_of(code) == reasons[0]


def test_unknown_reasons_have_no_code_and_unknown_codes_no_reason() -> None:
    assert [code_of(""), code_of("Teapot")] == [0, 0]
    assert [reason_of(0), reason_of(200), reason_of(418)] == ["", "", ""]


def test_a_status_line_has_the_phrase_of_its_code() -> None:
    codes = (101, 200, 201, 304, 400, 401, 404, 405, 409, 410, 413, 415, 422, 429, 431, 500, 503, 504, 418)
    assert ", ".join(phrase_of(code) for code in codes) == (
        "Switching Protocols, OK, Created, Not Modified, Bad Request, Unauthorized, Not Found,"
        " Method Not Allowed, Conflict, Gone, Request Entity Too Large, Unsupported Media Type,"
        " Unprocessable Entity, Too Many Requests, Request Header Fields Too Large, Internal Server Error,"
        " Service Unavailable, Gateway Timeout, "
    )
