"""The simulated server answers for pods whose node has no kubelet as a real one does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from unreachable_cases import COMMAND, REFUSED, SET_UP, UPGRADE, Refused

import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import Pod
from kubeproto.streams import Exited
from kubeproto.wire import RawRequest
from kubeproto_runtime.testing import run, simulated


def ask(
    cluster: sim.Cluster, method: str, target: str, body: Any, media: str, **headers: str
) -> sim.ServerResponse:
    named = {"Accept": "application/json", "Content-Type": media, **headers}
    data = b"" if body is None else json.dumps(body).encode()
    return cluster.respond(RawRequest(method, target, tuple(named.items()), data))


def cluster_without_kubelets() -> sim.Cluster:
    cluster = sim.Cluster()
    for step in SET_UP:
        assert ask(cluster, *step).status in (200, 201)
    return cluster


@pytest.mark.parametrize("case", REFUSED, ids=[f"{one.node}-{one.path}" for one in REFUSED])
def test_a_pod_without_a_kubelet_has_no_log_and_no_commands(case: Refused) -> None:
    headers = UPGRADE if case.upgrades else {}
    answer = ask(cluster_without_kubelets(), "GET", case.target, None, "application/json", **headers)
    assert isinstance(answer.body, bytes)
    assert (answer.status, json.loads(answer.body)["message"]) == (case.code, case.message)


def test_a_command_learns_after_the_upgrade_that_there_is_no_kubelet() -> None:
    cluster = cluster_without_kubelets()

    async def main() -> list[str]:
        async with simulated(cluster) as client, client.api(Pod).exec("on-addressed", ["ls"]) as process:
            return [event.status.message async for event in process if isinstance(event, Exited)]

    assert run(main) == [COMMAND]
