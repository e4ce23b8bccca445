"""Text from the outside is escaped and shortened before it reaches a log."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kubeproto import InvalidRequest, KubeprotoError, RawRequest, Status, TransportError
from kubeproto.watching import resync
from kubeproto.wire import classify, printable, refusal

ESC = "\x1b[2J\r\nERROR forged\u202e\x9b"


@given(st.text(), st.integers(0, 50))
def test_a_text_is_printed_on_a_single_line_and_truncated(text: str, limit: int) -> None:
    printed = printable(text, limit)
    assert printed.isprintable()
    assert len(printed) <= 10 * limit + 40
    if text.isprintable() and len(text) <= limit:
        assert printed == text


@pytest.mark.parametrize("code", [400, 403, 422, 500])
def test_a_refusal_forges_no_line_of_a_log(code: int) -> None:
    import json

    body = json.dumps({"kind": "Status", "status": "Failure", "message": ESC, "reason": ESC, "code": code})
    error = refusal(RawRequest("GET", "/x"), code, (), body.encode())
    assert str(error).isprintable()
    assert "forged" in str(error)
    assert error.status.message == ESC
    assert classify(error).reason.isprintable()
    assert classify(Status(message=ESC, code=code)).reason.isprintable()


@pytest.mark.parametrize("kind", [KubeprotoError, TransportError, InvalidRequest])
def test_no_message_repeats_ten_megabytes(kind: type[KubeprotoError]) -> None:
    error = kind(f"{'x' * 10_000_000!r} is odd")
    assert len(str(error)) < 10_000
    assert str(error).endswith("(10000009 characters)")
    assert str(kind("two\nlines\x1b")) == "two\nlines\\x1b"


def test_a_long_version_is_truncated() -> None:
    context = resync.SyncContext(resync.Settings(), resync.Endpoint(), "9" * 1000)
    state = resync.Watching(context, "9", 0.0)
    _, actions = resync.step(state, resync.Received(1, "8" * 999), 1.0)
    (report,) = [action for action in actions if isinstance(action, resync.Report)]
    assert len(report.failure.text) < 300
