"""At each step the controllers of the simulator do the same as the recorded controllers of a real control
plane.
"""

from __future__ import annotations

from typing import Final

import pytest
from simulated_workloads import outcomes
from workload_cases import CASES
from workload_random import RANDOM, random_case
from workload_recording import read_outcomes
from workload_summary import alike

THEIRS: Final = read_outcomes()
MORE: Final = pytest.mark.thorough("more of a kind")
ALL: Final = {case.name: case for case in (*CASES, *map(random_case, RANDOM))}


def test_every_case_is_recorded() -> None:
    assert set(THEIRS) == set(ALL)


@pytest.mark.parametrize(
    "name",
    [
        *(case.name for case in CASES),
        *(random_case(seed).name for seed in RANDOM[:4]),
        *(pytest.param(random_case(seed).name, marks=MORE) for seed in RANDOM[4:]),
    ],
)
def test_each_step_has_the_outcome_that_it_has_in_a_real_cluster(name: str) -> None:
    for step_index, (simulated, recorded) in enumerate(zip(outcomes(ALL[name]), THEIRS[name], strict=True)):
        if not alike(simulated, recorded):
            assert simulated == recorded, f"after step {step_index}: {ALL[name].steps[step_index]}"
