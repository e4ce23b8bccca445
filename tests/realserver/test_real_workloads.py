"""The real controllers treat random Deployments like those of the simulator."""

from __future__ import annotations

from typing import Final

import pytest
from workload_cases import CASES
from workload_random import random_case
from workload_steps import Case
from workload_summary import alike

from realserver import RealServer

from .workloads import on

SEEDS: Final = range(100, 104)
# One case of each kind; `make workloads` records all of them.
NAMED: Final = ("job-of-many", "set-update", "daemons-surge", "service", "budget", "cron", "quota-of-pods")


@pytest.mark.kubernetes("1.36")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_changes_of_a_deployment_have_the_same_outcome(real_server: RealServer, seed: int) -> None:
    _compare(real_server, random_case(seed))


@pytest.mark.kubernetes("1.36")
@pytest.mark.parametrize("name", NAMED)
def test_changes_of_each_kind_have_the_same_outcome(real_server: RealServer, name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    _compare(real_server, case)


def _compare(server: RealServer, case: Case) -> None:
    for number, (real, simulated) in enumerate(on(server.connection, case)):
        if not alike(real, simulated):
            assert simulated == real, f"after step {number}: {case.steps[number]}"
