"""A real server calls a conversion webhook and responds like the simulated server."""

from __future__ import annotations

import pytest
from conversion_cases import CASES, find_differences, run_case
from simulated_conversion import SimulatedConversionCaller

from realserver import RealServer

from .conversion import run_conversion_caller


@pytest.mark.kubernetes("1.36")
def test_conversions_and_failures_equal_those_of_the_simulated_server(uncached_server: RealServer) -> None:
    simulated = SimulatedConversionCaller()
    with run_conversion_caller(uncached_server) as caller:
        for case in CASES:
            assert find_differences(run_case(simulated, case), run_case(caller, case)) == [], case.name
        caller.clear()  # other tests write at the same time
