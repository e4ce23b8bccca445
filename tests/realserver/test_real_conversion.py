"""A real server calls a conversion webhook as the simulated one does, and responds alike."""

from __future__ import annotations

import pytest
from conversion_cases import CASES, different, outcome
from simulated_conversion import SimulatedConversionTaker

from realserver import RealServer

from .conversion import converting


@pytest.mark.kubernetes("1.36")
def test_objects_are_converted_and_failures_answered_alike(uncached_server: RealServer) -> None:
    simulated = SimulatedConversionTaker()
    with converting(uncached_server) as taker:
        for case in CASES:
            assert different(outcome(simulated, case), outcome(taker, case)) == [], case.name
        taker.clear()  # other tests write at the same time
