"""A real server authorizes random requests under random roles as the simulated one does."""

from __future__ import annotations

import pytest
from access_cases import Cases, verdicts
from simulated_access import sender, simulated

from realserver import RealServer

from ._seeds import new_seed
from .access import ask_all, sending


@pytest.mark.kubernetes("1.36")
def test_fresh_roles_and_requests_have_the_same_verdicts(real_server: RealServer) -> None:
    seed = str(new_seed())
    cases, cluster = Cases(seed, 250), simulated()
    with sending(real_server) as send:
        theirs = ask_all(cases, send)
    simulate = sender(cluster)
    for ask in cases.objects:
        assert simulate(ask)[0] == 201
        cluster.settle()
    mine = verdicts(cases, simulate)
    assert [
        triple for triple in zip(cases.asks, mine, theirs, strict=True) if triple[1] != triple[2]
    ] == [], seed
