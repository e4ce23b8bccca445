"""The simulated server responds for pods on nodes without a kubelet like a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unreachable_cases import COMMAND_ERROR, REFUSED_REQUESTS, SET_UP, UPGRADE, RefusedRequest

import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import Pod
from kubeproto.streams import Exited
from kubeproto.wire import RawRequest
from kubeproto_runtime.testing import run, simulated


def send_request(
    cluster: sim.Cluster, method: str, target: str, body: Any, media: str, **headers: str
) -> sim.ServerResponse:
    all_headers = {"Accept": "application/json", "Content-Type": media, **headers}
    data = b"" if body is None else json.dumps(body).encode()
    return cluster.respond(RawRequest(method, target, tuple(all_headers.items()), data))


def cluster_without_kubelets() -> sim.Cluster:
    cluster = sim.Cluster()
    for step in SET_UP:
        assert send_request(cluster, *step).status in (200, 201)
    return cluster


@pytest.mark.parametrize(
    "case", REFUSED_REQUESTS, ids=[f"{request.node}-{request.path}" for request in REFUSED_REQUESTS]
)
def test_a_pod_without_a_kubelet_has_no_log_and_no_commands(case: RefusedRequest) -> None:
    headers = UPGRADE if case.is_upgrade else {}
    response = send_request(
        cluster_without_kubelets(), "GET", case.target, None, "application/json", **headers
    )
    assert isinstance(response.body, bytes)
    assert (response.status, json.loads(response.body)["message"]) == (case.code, case.message)


def test_a_command_fails_after_the_upgrade_if_there_is_no_kubelet() -> None:
    cluster = cluster_without_kubelets()

    async def main() -> list[str]:
        async with simulated(cluster) as client, client.api(Pod).exec("on-addressed", ["ls"]) as process:
            return [event.status.message async for event in process if isinstance(event, Exited)]

    assert run(main) == [COMMAND_ERROR]
