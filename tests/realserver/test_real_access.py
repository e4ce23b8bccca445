"""A real server authorizes random requests under random roles like the simulated server."""

from __future__ import annotations

import pytest
from access_cases import Cases, verdicts
from simulated_access import make_sender, simulated_cluster

from realserver import RealServer

from ._seeds import new_seed
from .access import send_all, sending


@pytest.mark.kubernetes("1.36")
def test_fresh_roles_and_requests_have_the_same_verdicts(real_server: RealServer) -> None:
    seed = str(new_seed())
    cases, cluster = Cases(seed, 250), simulated_cluster()
    with sending(real_server) as send:
        real_verdicts = send_all(cases, send)
    simulate = make_sender(cluster)
    for request in cases.objects:
        assert simulate(request)[0] == 201
        cluster.settle()
    simulated_verdicts = verdicts(cases, simulate)
    assert [
        triple
        for triple in zip(cases.requests, simulated_verdicts, real_verdicts, strict=True)
        if triple[1] != triple[2]
    ] == [], seed
