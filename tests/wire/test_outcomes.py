"""The outcome of each failure: recorded refusals, every form of a 410, every spelling of too large, and
others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.objects import ListMeta, Status, StatusCause, StatusDetails
from kubeproto.wire import (
    Broken,
    Conflicted,
    Expired,
    Failure,
    Garbled,
    Outcome,
    RawRequest,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
    Unreadable,
    Unsupported,
    classify,
    refusal,
)

# The responses of a Kubernetes 1.36 API server, outside 2xx.
RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("refusals.json").read_text())


def recorded(name: str) -> kp.ApiError:
    """Return the error of a recorded refusal."""
    entry = RECORDED[name]
    method, target = entry["request"].split(" ", 1)
    headers = tuple((key, value) for key, value in entry["headers"])
    return refusal(RawRequest(method, target), entry["status"], headers, entry["body"].encode())


EXPECTED_OUTCOMES: dict[str, tuple[type[kp.ApiError], type[Outcome], float | None]] = {
    "add-finalizer-while-deleting-422": (kp.Invalid, Rejected, None),
    "admission-policy-denied-422": (kp.Invalid, Rejected, None),
    "apply-conflict-409": (kp.Conflict, Conflicted, None),
    "apply-conflicts-409": (kp.Conflict, Conflicted, None),
    "apply-status-conflict-409": (kp.Conflict, Conflicted, None),
    "apply-without-field-manager-422": (kp.Invalid, Rejected, None),
    "cr-update-without-rv-422": (kp.Invalid, Rejected, None),
    "cr-validation-422": (kp.Invalid, Rejected, None),
    "cr-validation-rule-422": (kp.Invalid, Rejected, None),
    "create-already-exists-409": (kp.AlreadyExists, Rejected, None),
    "create-in-missing-namespace-404": (kp.NotFound, Refused, None),
    "create-in-terminating-namespace-403": (kp.Forbidden, Refused, None),
    "create-invalid-causes-422": (kp.Invalid, Rejected, None),
    "create-invalid-name-422": (kp.Invalid, Rejected, None),
    "create-namespace-mismatch-400": (kp.BadRequest, Rejected, None),
    "create-strict-400": (kp.BadRequest, Rejected, None),
    "create-while-deleting-409": (kp.AlreadyExists, Rejected, None),
    "create-with-rv-500": (kp.ApiError, Rejected, None),
    "custom-resource-storage-initializing-429": (kp.TooManyRequests, Throttled, 1.0),
    "delete-uid-precondition-409": (kp.Conflict, Conflicted, None),
    "discovery-aggregated-304": (kp.ApiError, Rejected, None),
    "eviction-429": (kp.TooManyRequests, Throttled, None),
    "exec-needs-create-403": (kp.Forbidden, Refused, None),
    "exec-unscheduled-pod-400": (kp.BadRequest, Rejected, None),
    "get-404": (kp.NotFound, Refused, None),
    "json-patch-test-failed-422": (kp.Invalid, Rejected, None),
    "list-bad-continue-400": (kp.BadRequest, Rejected, None),
    "list-bad-shard-selector-500": (kp.ApiError, Rejected, None),
    "list-continue-410": (kp.Gone, Expired, None),
    "list-exact-410": (kp.Gone, Expired, None),
    "list-match-without-rv-422": (kp.Invalid, Rejected, None),
    "list-too-large-rv-504": (kp.Timeout, TooLarge, 1.0),
    "list-unsupported-field-selector-400": (kp.BadRequest, Rejected, None),
    "method-not-allowed-405": (kp.MethodNotAllowed, Rejected, None),
    "micro-time-without-fraction-400": (kp.BadRequest, Rejected, None),
    "not-acceptable-406": (kp.NotAcceptable, Rejected, None),
    "patch-rv-conflict-409": (kp.Conflict, Conflicted, None),
    "patch-strategic-on-custom-resource-415": (kp.UnsupportedMediaType, Rejected, None),
    "patch-unsupported-type-415": (kp.UnsupportedMediaType, Rejected, None),
    "patch-wrong-type-422": (kp.Invalid, Rejected, None),
    "quota-exceeded-403": (kp.Forbidden, Refused, None),
    "rbac-list-403": (kp.Forbidden, Refused, None),
    "request-timeout-504": (kp.Timeout, ServerFailed, None),
    "too-many-requests-429": (kp.TooManyRequests, Throttled, 1.0),
    "unauthorized-401": (kp.Unauthorized, Refused, None),
    "unknown-group-404": (kp.NotFound, Refused, None),
    "unknown-resource-404": (kp.NotFound, Refused, None),
    "update-conflict-409": (kp.Conflict, Conflicted, None),
    "update-uid-mismatch-409": (kp.Conflict, Conflicted, None),
    "watch-bad-rv-500": (kp.ApiError, Rejected, None),
    "watch-list-unsupported-422": (kp.Invalid, Unsupported, None),
    "watch-send-initial-events-without-match-422": (kp.Invalid, Rejected, None),
    "webhook-unreachable-500": (kp.InternalError, ServerFailed, None),
}


def test_every_recorded_refusal_is_in_the_table() -> None:
    assert RECORDED.keys() == EXPECTED_OUTCOMES.keys()


@pytest.mark.parametrize("name", EXPECTED_OUTCOMES)
def test_a_recorded_refusal_has_the_right_error_and_the_right_outcome(name: str) -> None:
    error = recorded(name)
    outcome = classify(error)
    assert (type(error), type(outcome), outcome.retry_after) == EXPECTED_OUTCOMES[name]
    assert error.code == outcome.code == RECORDED[name]["status"]
    assert error.retry_after == outcome.retry_after


@pytest.mark.parametrize("name", EXPECTED_OUTCOMES)
def test_a_status_and_its_error_mean_the_same(name: str) -> None:
    error = recorded(name)
    alone = classify(error.status)
    assert (type(alone), alone.code, alone.retry_after) == (
        type(classify(error)),
        error.code,
        error.retry_after,
    )


def test_the_outcome_contains_the_token_of_an_expired_page() -> None:
    outcome = classify(recorded("list-continue-410"))
    assert isinstance(outcome, Expired)
    assert outcome.token.startswith("eyJ2IjoibWV0YS5rOHMuaW8vdjEi")
    assert classify(Status(code=410, metadata=ListMeta(continue_="t"))) == Expired("410", 410, None, "t")


@pytest.mark.parametrize(
    "status",
    [
        Status(reason="Expired", code=410),
        Status(reason="Gone", code=410),
        Status(code=410),
        Status(reason="Expired"),
        Status(reason="Expired", code=500),
        Status(reason="Gone", code=200),
    ],
)
def test_each_form_of_a_410_is_expired(status: Status) -> None:
    assert isinstance(classify(status), Expired)
    assert isinstance(classify(kp.ApiError(status)), Expired)
    assert classify(status).code == 410


def cause(reason: str = "", message: str = "", field: str = "") -> StatusDetails:
    return StatusDetails(causes=(StatusCause(reason=reason, message=message, field=field),))


@pytest.mark.parametrize(
    "status",
    [
        Status(reason="Timeout", code=504, details=cause("ResourceVersionTooLarge")),
        Status(reason="Timeout", code=504, details=cause(message="Too large resource version")),
        Status(reason="Timeout", code=504, message="Timeout: Too large resource version: 20, current: 10"),
        Status(reason="Timeout", message="Too large resource version: 20, current: 10"),
        Status(code=504, message="Too large resource version: 20, current: 10"),
    ],
    ids=["cause", "cause message", "top message", "no code", "no reason"],
)
def test_each_historical_spelling_of_too_large_is_too_large(status: Status) -> None:
    assert isinstance(classify(status), TooLarge)


def test_too_large_is_not_read_into_other_failures() -> None:
    message_ = "Too large resource version: 20, current: 10"
    assert isinstance(classify(Status(reason="Invalid", code=422, message=message_)), Rejected)
    assert isinstance(classify(Status(reason="Timeout", code=504, message="deadline")), ServerFailed)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status(code=429, message="Too many requests, please try again later."), Throttled),
        (Status(reason="TooManyRequests"), Throttled),
        (Status(reason="InternalError", code=500), ServerFailed),
        (Status(reason="ServerTimeout", code=500), ServerFailed),
        (Status(reason="ServiceUnavailable"), ServerFailed),
        (Status(code=502), ServerFailed),
        (Status(code=599, reason="NeverHeardOf"), ServerFailed),
        (Status(code=408), ServerFailed),
        (Status(), ServerFailed),
        (Status(reason="NeverHeardOf"), ServerFailed),
        (Status(code=500, message="resourceVersion: Invalid value"), Rejected),
        (Status(code=500, details=StatusDetails(retry_after_seconds=2)), ServerFailed),
        (Status(reason="StorageReadError", code=500), Unreadable),
        (Status(reason="Unauthorized", code=401), Refused),
        (Status(reason="Forbidden"), Refused),
        (Status(code=404), Refused),
        (Status(code=409), Conflicted),
        (Status(reason="Conflict"), Conflicted),
        (Status(reason="AlreadyExists", code=409), Rejected),
        (Status(code=400), Rejected),
        (Status(code=422), Rejected),
        (Status(code=301), Rejected),
        (Status(code=405), Rejected),
        (Status(code=422, details=cause(field="sendInitialEvents")), Unsupported),
        (
            Status(
                code=422,
                details=cause("x", "resourceVersionMatch is forbidden for watch", "resourceVersionMatch"),
            ),
            Unsupported,
        ),
        (Status(code=400, message="unknown parameter sendInitialEvents"), Unsupported),
        (Status(code=500, reason="InternalError", message="sendInitialEvents"), ServerFailed),
    ],
    ids=repr,
)
def test_a_status_has_a_single_outcome(status: Status, expected: type[Outcome]) -> None:
    assert type(classify(status)) is expected


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (kp.ConnectError("refused by 10.0.0.1:443"), Unreachable("refused by 10.0.0.1:443")),
        (kp.DeadlineExceeded("10 s"), TimedOut("10 s")),
        (kp.TransportError("reset\nby peer"), Broken("reset by peer")),
        (kp.TransportError(), Broken("TransportError")),
        (kp.RemoteProtocolError("no gzip"), Garbled("no gzip")),
        (kp.InvalidObject("no pod"), Garbled("no pod")),
    ],
    ids=repr,
)
def test_a_failure_of_the_transport_has_a_single_outcome(failure: Failure, expected: Outcome) -> None:
    assert classify(failure) == expected


def test_the_retry_after_of_an_error_takes_precedence_over_that_of_its_status() -> None:
    status = Status(code=429, details=StatusDetails(retry_after_seconds=7))
    assert classify(status).retry_after == 7.0
    assert classify(kp.ApiError(status)).retry_after == 7.0
    assert classify(kp.ApiError(status, retry_after=3.0)).retry_after == 3.0


def test_the_reason_names_request_code_and_message_on_one_line() -> None:
    outcome = classify(recorded("not-acceptable-406"))
    assert outcome.reason.startswith("GET /api/v1/namespaces/w/configmaps")
    assert "406 NotAcceptable: 406: Not Acceptable Available representations:" in outcome.reason
    assert "\n" not in outcome.reason
    assert len(classify(Status(code=422, message="x" * 5000)).reason) == 301


@given(
    st.builds(
        Status,
        status=st.sampled_from(["", "Success", "Failure"]),
        message=st.text(max_size=400),
        reason=st.text(max_size=8)
        | st.sampled_from(["Expired", "Timeout", "Invalid", "Forbidden", "StorageReadError"]),
        code=st.integers(-(2**70), 2**70) | st.sampled_from([0, 400, 410, 422, 429, 500, 504]),
        details=st.builds(StatusDetails, retry_after_seconds=st.integers(-(2**2000), 2**2000)),
    )
)
def test_any_status_has_an_outcome_with_a_single_line_and_a_limited_wait(status: Status) -> None:
    outcome = classify(status)
    assert len(outcome.reason.splitlines()) <= 1
    assert outcome.retry_after is None or 0 < outcome.retry_after <= 86_400
