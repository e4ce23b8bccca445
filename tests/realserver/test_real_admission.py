"""A real server calls the webhooks of the cases and responds like the simulated server."""

from __future__ import annotations

import pytest
from admission_cases import CASES, POLICIES, Case, run_case
from simulated_admission import SimulatedWebhookCaller
from subresource_cases import BODIES

from realserver import RealServer

from .admission import run_webhook_caller


@pytest.mark.kubernetes("1.36")
def test_webhook_calls_and_responses_equal_those_of_the_simulated_server(real_server: RealServer) -> None:
    with run_webhook_caller(real_server) as caller:
        real_outcomes = {case.name: run_case(caller, case) for case in (*CASES, *POLICIES, BODIES)}
        caller.configure(Case("none", (), (), ()))  # other tests write at the same time
    simulated = SimulatedWebhookCaller()
    for case in (*CASES, *POLICIES, BODIES):
        assert run_case(simulated, case) == real_outcomes[case.name], case.name
