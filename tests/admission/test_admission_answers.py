"""The simulated server calls webhooks as a real one did: the same reviews in the same order, and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from admission_cases import CASES, POLICIES, RECORDED, outcome
from simulated_admission import SimulatedTaker
from subresource_cases import BODIES

from kubeproto.crd import CelFailure, evaluate_with


@pytest.mark.needs("cel_expr_python")
def test_each_review_and_each_answer_is_that_of_the_real_server() -> None:
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    taker = SimulatedTaker()
    mine = {case.name: outcome(taker, case) for case in (*CASES, *POLICIES, BODIES)}
    for case in (*CASES, *POLICIES, BODIES):
        for simulated, real in zip(mine[case.name], recorded[case.name], strict=True):
            assert simulated == real, case.name
    assert mine.keys() == recorded.keys()


def test_an_expression_over_any_variables_has_a_result_or_a_reason() -> None:
    assert evaluate_with("a + b", {"a": "x", "b": "y"}) == "xy"
    assert evaluate_with("a.b", {"a": {}}) == CelFailure("no such key: b")
