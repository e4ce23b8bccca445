"""A refusal becomes the right error with any body, and without secrets."""

from __future__ import annotations

import gzip
import json
import traceback
from typing import Any

import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.objects import Status, StatusDetails
from kubeproto.wire import Headers, RawRequest, classify, header, read_status, refusal, retry_after, warnings

GET = RawRequest("GET", "/api/v1/namespaces/w/pods/x?limit=5")
POST = RawRequest("POST", "/api/v1/namespaces/w/pods")
SAID = (
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}'
)


def status_of(**fields: object) -> Status:
    """Return the Status of a 503 with these fields."""
    return read_status(503, (), json.dumps({"kind": "Status", "status": "Failure"} | fields).encode())


@pytest.mark.parametrize(
    ("code", "body", "error", "message"),
    [
        (404, b"404 page not found\n", kp.NotFound, "404 page not found"),
        (429, b"Too many requests.\n", kp.TooManyRequests, "Too many requests."),
        (502, b"<html>\r\n<h1>Bad\tGateway</h1>\n</html>", kp.InternalError, "<html> <h1>Bad Gateway</h1>"),
        (503, b"", kp.ServiceUnavailable, ""),
        (500, b'{"kind":"Status","status":"Fail', kp.InternalError, '{"kind":"Status","status":"Fail'),
        (500, b"\xff\xfe\x00 what\x1b[31m", kp.InternalError, "\ufffd\ufffd\ufffd what\ufffd[31m"),
        (500, b"[1,2]", kp.InternalError, "[1,2]"),
        (500, b"42", kp.InternalError, "42"),
        (500, b"null", kp.InternalError, "null"),
        (500, b"[" * 100_000, kp.InternalError, "[[["),
        (500, b'{"a":' * 100_000, kp.InternalError, '{"a":{"a":'),
        (403, b'{"kind":"Pod","metadata":{}}', kp.Forbidden, '{"kind":"Pod","metadata":{}}'),
        (403, b'{"kind":"Pod","status":"Failure"}', kp.Forbidden, '{"kind":"Pod"'),
        (401, b'{"message":"no","code":418,"reason":"x"}', kp.Unauthorized, '{"message":"no"'),
        (401, b"{}", kp.Unauthorized, "{}"),
        (500, b'{"kind":"Status","status":"Success"}', kp.InternalError, '{"kind":"Status",'),
        (418, b"a teapot", kp.ApiError, "a teapot"),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_rq_26_a_body_that_is_not_a_status_is_quoted_in_a_new_status(
    code: int, body: bytes, error: type[kp.ApiError], message: str
) -> None:
    refused = refusal(GET, code, (("Retry-After", "7"),), body)
    assert type(refused) is error
    assert refused.code == code
    assert refused.status.message.startswith(message)
    assert refused.status.has_cause("UnexpectedServerResponse")
    assert refused.retry_after == 7.0
    assert refused.status.details.retry_after_seconds == 7


def test_rq_26_a_long_foreign_body_is_visibly_truncated() -> None:
    exact = read_status(500, (), b"x" * 2048).message
    assert exact == "x" * 2048
    longer = read_status(500, (), b"x" * 2049).message
    assert longer == "x" * 2048 + "…"


def test_a_409_without_a_reason_means_already_exists_for_a_post_and_conflict_otherwise() -> None:
    assert type(refusal(POST, 409, (), b"conflict")) is kp.AlreadyExists
    assert type(refusal(GET, 409, (), b"conflict")) is kp.Conflict
    status_body = b'{"kind":"Status","status":"Failure","reason":"Conflict","code":409}'
    assert type(refusal(POST, 409, (), status_body)) is kp.Conflict


def test_a_status_without_kind_as_text_is_read() -> None:
    body = b'{"metadata":{},"status":"Failure","message":"late","reason":"Timeout","details":{},"code":504}'
    error = refusal(POST, 504, (("Content-Type", "text/plain; charset=utf-8"),), body)
    assert type(error) is kp.Timeout
    assert error.status == Status(status="Failure", message="late", reason="Timeout", code=504)


def test_a_500_without_a_reason_stays_without_one() -> None:
    error = refusal(GET, 500, (), b'{"kind":"Status","status":"Failure","message":"bad version","code":500}')
    assert type(error) is kp.ApiError
    assert error.reason == ""
    assert not error.status.has_cause("UnexpectedServerResponse")


def test_an_invalid_field_is_dropped_and_the_other_fields_are_read() -> None:
    assert status_of(code="410", reason="Expired").code == 410
    assert status_of(message=None, reason="Expired", details=None, metadata=None).reason == "Expired"
    assert status_of(message=["no"], reason="Expired", metadata="x").reason == "Expired"
    causes = [None, {"reason": "A", "message": None}]
    assert status_of(details={"causes": causes, "name": None}).details.causes[0].reason == "A"
    nested: Any = "deep"
    for _ in range(600):
        nested = [nested]
    assert status_of(reason="Expired", details=nested).reason == "Expired"


@pytest.mark.parametrize("status_body", [None, 0, -1, 200, 99999, "x", 10**25])
def test_a_code_that_is_not_a_refusal_is_replaced_by_the_code_on_the_wire(status_body: object) -> None:
    assert status_of(code=status_body).code == 503


def test_the_status_takes_precedence_over_the_code_on_the_wire() -> None:
    assert read_status(500, (), SAID).code == 403


def test_a_compressed_refusal_is_inflated() -> None:
    for headers in ((("Content-Encoding", "gzip"),), (("content-encoding", "x-gzip"),)):
        error = refusal(GET, 403, headers, gzip.compress(SAID))
        assert (type(error), error.status.message) == (kp.Forbidden, "no")


def test_a_refusal_that_a_proxy_inflated_is_read_despite_its_header() -> None:
    assert refusal(GET, 403, (("Content-Encoding", "gzip"),), SAID).status.message == "no"


@pytest.mark.parametrize(
    ("encoding", "body", "message"),
    [
        ("gzip", gzip.compress(SAID, mtime=0)[:-3], "the body ends inside a gzip member"),
        ("gzip", gzip.compress(SAID, mtime=0) + b"garbage", "the body is not the gzip"),
        (
            "gzip",
            gzip.compress(bytes(8 << 20), mtime=0),
            "the body inflates to over|a piece of the body inflates to over",
        ),
        ("br", b"\x0b\x02\x80", "the body is encoded as 'br'"),
    ],
    ids=["truncated", "garbage", "bomb", "brotli"],
)
def test_a_refusal_that_cannot_be_inflated_is_still_a_refusal(
    encoding: str, body: bytes, message: str
) -> None:
    error = refusal(GET, 403, (("Content-Encoding", encoding),), body)
    assert type(error) is kp.Forbidden
    assert any(error.status.message.startswith(part) for part in message.split("|"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
STATUS_LIKE = st.fixed_dictionaries(
    {"status": st.just("Failure")},
    optional={
        "kind": st.just("Status") | JSON,
        "code": JSON,
        "reason": JSON,
        "message": JSON,
        "details": JSON | st.fixed_dictionaries({"causes": JSON, "retryAfterSeconds": JSON}),
        "metadata": JSON,
    },
).map(lambda value: json.dumps(value).encode())


@given(
    st.integers(300, 599),
    st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()) | STATUS_LIKE,
    st.sampled_from(["", "gzip", "identity", "br"]),
    st.text(max_size=6),
)
def test_any_body_becomes_a_failure_with_a_code(code: int, body: bytes, encoding: str, wait: str) -> None:
    headers = (("Content-Encoding", encoding), ("Retry-After", wait))
    error = refusal(GET, code, headers, body)
    assert error.status.status != "Success"
    assert 300 <= error.code < 600
    assert isinstance(str(error), str)
    assert error.retry_after is None or 0 <= error.retry_after <= 86_400


def test_an_error_names_the_path_and_nothing_secret() -> None:
    request = RawRequest(
        "POST",
        "/api/v1/namespaces/w/pods/x/exec?command=hunter2",
        (("Authorization", "Bearer hunter2"), ("Cookie", "s=hunter2"), ("Proxy-Authorization", "hunter2")),
        b'{"password":"hunter2"}',
    )
    for body in (SAID, b"<html>", b""):
        error = refusal(request, 403, (("Set-Cookie", "hunter2"),), body)
        renderings = [str(error), repr(error), repr(error.__reduce__()), *traceback.format_exception(error)]
        assert "hunter2" not in "".join(renderings)
        assert "hunter2" not in classify(error).reason
        assert "POST /api/v1/namespaces/w/pods/x/exec" in str(error)


def test_a_header_is_found_whatever_the_case_of_its_name() -> None:
    headers = (("retry-AFTER", "1"), ("Retry-After", "2"))
    assert header(headers, "Retry-After") == "1"
    assert header(headers, "audit-id") == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", 1.0), ("0", 0.0), (" 5 ", 5.0), ("86401", 86_400.0), ("9" * 400, 86_400.0),
        ("", None), ("-1", None), ("+1", None), ("1.5", None), ("1e3", None), ("soon", None),
        ("٣", None), ("²", None), ("Fri, 31 Dec 2027 23:59:59 GMT", None),
    ],
)  # fmt: skip
def test_only_whole_seconds_are_a_retry_after(value: str, expected: float | None) -> None:
    assert retry_after((("Retry-After", value),), Status()) == expected


def test_the_retry_after_of_the_header_is_in_the_status_too() -> None:
    assert read_status(403, (("Retry-After", "7"),), SAID).details.retry_after_seconds == 7
    assert read_status(403, (), SAID).details.retry_after_seconds == 0


def test_the_retry_after_of_the_header_takes_precedence_over_that_of_the_status() -> None:
    status = Status(details=StatusDetails(retry_after_seconds=9))
    assert retry_after((("Retry-After", "1"),), status) == 1.0
    assert retry_after((("Retry-After", "soon"),), status) == 9.0
    assert retry_after((), Status(details=StatusDetails(retry_after_seconds=10**400))) == 86_400.0
    assert retry_after((), Status(details=StatusDetails(retry_after_seconds=-1))) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('299 - "v1 Endpoints is deprecated in v1.33+; use x/v1 EndpointSlice"',
         ["v1 Endpoints is deprecated in v1.33+; use x/v1 EndpointSlice"]),
        (r'299 - "unknown field \"dta\""', ['unknown field "dta"']),
        (r'299 - "a \\ and a \q"', ["a \\ and a q"]),
        ('299 - ""', [""]),
        ('299 - "one", 299 api:443 "two"', ["one", "two"]),
        ('299 - "one",299 - "two", ', ["one", "two"]),
        ('299 - "with, comma" "Wed, 21 Oct 2015 07:28:00 GMT", 199 - "b"', ["with, comma", "b"]),
        ("just words", ["just words"]),
        ('299 - "never closed', ['299 - "never closed']),
        ('299 - "closed" and more', ['299 - "closed" and more']),
        ('2999 - "four digits"', ['2999 - "four digits"']),
        ('299 - "good", then junk', ["good", "then junk"]),
        ("", []),
    ],
)  # fmt: skip
def test_rq_31_a_warning_is_parsed_and_a_malformed_warning_is_returned_unchanged(
    value: str, expected: list[str]
) -> None:
    headers: Headers = (("Warning", value), ("X-Warning", "no"), ("warning", '299 - "next"'))
    assert warnings(headers) == (*expected, "next")


@given(st.text(max_size=80) | st.from_regex(r'(\d{3} - "[^"]*"[, ]*)*.*', fullmatch=True))
def test_any_warning_header_is_parsed_into_texts(value: str) -> None:
    assert all(isinstance(text, str) for text in warnings((("Warning", value),)))


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20), max_size=4))
def test_quoted_warnings_are_unquoted(texts: list[str]) -> None:
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    assert warnings((("Warning", ", ".join(f'299 - "{text}"' for text in quoted)),)) == tuple(texts)
