"""The simulated server sends the conversion reviews and responses that were recorded from a real server."""

from __future__ import annotations

import json
from typing import Any

from conversion_cases import CASES, RECORDED, find_differences, run_case
from simulated_conversion import SimulatedConversionCaller


def test_conversions_and_responses_equal_those_of_a_real_server() -> None:
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    caller = SimulatedConversionCaller()
    for case in CASES:
        assert find_differences(run_case(caller, case), recorded[case.name]) == [], case.name
    assert recorded.keys() == {case.name for case in CASES}
