"""A real server calls the webhooks of the cases as the simulated one does, and responds alike."""

from __future__ import annotations

import pytest
from admission_cases import CASES, POLICIES, Case, outcome
from simulated_admission import SimulatedTaker
from subresource_cases import BODIES

from realserver import RealServer

from .admission import taking


@pytest.mark.kubernetes("1.36")
def test_webhooks_are_called_and_answered_alike(real_server: RealServer) -> None:
    with taking(real_server) as taker:
        theirs = {case.name: outcome(taker, case) for case in (*CASES, *POLICIES, BODIES)}
        taker.configure(Case("none", (), (), ()))  # other tests write at the same time
    simulated = SimulatedTaker()
    for case in (*CASES, *POLICIES, BODIES):
        assert outcome(simulated, case) == theirs[case.name], case.name
