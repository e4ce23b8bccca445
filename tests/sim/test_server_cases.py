"""The simulated server responds to the requests of the cases as a real server did."""

from __future__ import annotations

import json
from typing import Any

import pytest
from server_cases import CASES, RECORDED, decoded, outcomes

import kubeproto_sim as sim
from kubeproto.wire import RawRequest, warnings

ADMIN = sim.User("admin", "1", ("system:masters",))


class SimulatedServer:
    """Sends requests to a populated cluster."""

    def __init__(self) -> None:
        self.cluster = sim.Cluster(populated=True)

    def send(
        self, method: str, target: str, body: bytes, media: str, accept: str
    ) -> tuple[int, list[str], Any]:
        headers = (("Accept", accept), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        response = self.cluster.respond(RawRequest(method, target, headers, body), ADMIN)
        self.cluster.advance(0.01)
        assert isinstance(response.body, bytes)
        return response.status, list(warnings(response.headers)), decoded(response.body)


@pytest.mark.parametrize("name", CASES)
def test_the_responses_are_those_of_a_real_server(name: str) -> None:
    recorded = json.loads(RECORDED.read_text())
    assert outcomes(SimulatedServer().send, name) == recorded[name]


def test_every_recorded_case_exists() -> None:
    assert json.loads(RECORDED.read_text()).keys() == CASES.keys()
