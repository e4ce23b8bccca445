"""The simulated server sends the reviews and responses that were recorded from a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from admission_cases import CASES, POLICIES, RECORDED, run_case
from simulated_admission import SimulatedWebhookCaller
from subresource_cases import BODIES

from kubeproto.crd import CelFailure, evaluate_with


@pytest.mark.needs("cel_expr_python")
def test_reviews_and_responses_equal_those_of_a_real_server() -> None:
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    caller = SimulatedWebhookCaller()
    simulated_outcomes = {case.name: run_case(caller, case) for case in (*CASES, *POLICIES, BODIES)}
    for case in (*CASES, *POLICIES, BODIES):
        for simulated, real in zip(simulated_outcomes[case.name], recorded[case.name], strict=True):
            assert simulated == real, case.name
    assert simulated_outcomes.keys() == recorded.keys()


def test_an_expression_with_any_variables_has_a_result_or_an_error() -> None:
    assert evaluate_with("a + b", {"a": "x", "b": "y"}) == "xy"
    assert evaluate_with("a.b", {"a": {}}) == CelFailure("no such key: b")
