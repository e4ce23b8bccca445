"""A real server still sends the recorded responses to the requests of the cases."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from server_cases import CASES, RECORDED, Json, outcomes

from realserver import RealServer

from .real_cases import sending

# Admission plugins of a real server know a new class after a moment.
_MAX_ATTEMPTS = 5


@pytest.mark.kubernetes("1.36")
@pytest.mark.parametrize("name", CASES)
def test_the_responses_equal_the_recorded_responses(real_server: RealServer, name: str) -> None:
    recorded = json.loads(RECORDED.read_text())[name]
    responses: list[Json] = []
    with sending(real_server) as send:
        for attempt in range(_MAX_ATTEMPTS):
            with suppress(AssertionError):  # the server may still know the classes of the last attempt
                responses = outcomes(send, name, attempt)
            if responses == recorded:
                break
    assert responses == recorded
