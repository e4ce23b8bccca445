"""The simulated server calls a conversion webhook as a real one did: the same reviews, and answers."""

from __future__ import annotations

import json
from typing import Any

from conversion_cases import CASES, RECORDED, different, outcome
from simulated_conversion import SimulatedConversionTaker


def test_each_conversion_and_each_answer_is_that_of_the_real_server() -> None:
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    taker = SimulatedConversionTaker()
    for case in CASES:
        assert different(outcome(taker, case), recorded[case.name]) == [], case.name
    assert recorded.keys() == {case.name for case in CASES}
