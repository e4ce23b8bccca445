"""A coordinated election: the server says who leads, among those who answer when it asks."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import anyio
import pytest
from test_leading import Acting, lease
from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.objects import MicroTime
from kubeproto_runtime.operator import CoordinatedElection, LeaderElector
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


class LeaseCandidate(kp.Object[dict[str, Any], None], group="coordination.k8s.io", version="v1beta1"):
    """What a server of the feature gate knows."""


BY = CoordinatedElection(binary_version="1.36.0")


def candidate(cluster: sim.Cluster, name: str) -> dict[str, Any]:
    found = cluster.get(LeaseCandidate, name)
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec


def pinged(at: str, one: dict[str, Any]) -> None:
    one["spec"]["pingTime"] = at


def assign(cluster: sim.Cluster, **spec: Any) -> None:
    """What the server's own controller writes."""
    if cluster.get(Lease, "books") is None:
        cluster.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "books"}})
    given = {"leaseDurationSeconds": 15, "strategy": BY.strategy} | spec
    cluster.edit(Lease, "books", lambda one: one.update(spec=given))


def test_le_09_le_10_who_is_named_leads_until_another_is_preferred(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(crds=[LeaseCandidate]), Acting()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            for name in "ab":
                leading = LeaderElector(client, name="books", identity=name, coordinated=BY)
                tasks.start_soon(leading.run, acting.as_(name))
            await anyio.sleep(30)
            assert acting.history == []
            assert cluster.get(Lease, "books") is None
            assign(cluster, holderIdentity="b")
            await anyio.sleep(30)
            assert acting.now == ["b"]
            assign(cluster, holderIdentity="b", preferredHolder="a")
            await anyio.sleep(3)
            assert acting.now == []
            await anyio.sleep(60)
            assert acting.now == []
            assert lease(cluster)["holderIdentity"] == "b"
            assign(cluster, holderIdentity="a")
            await anyio.sleep(5)
            assert acting.now == ["a"]
            tasks.cancel_scope.cancel()

    go(main)


def test_le_20_a_candidate_is_created_and_answers_each_ping(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(crds=[LeaseCandidate]), Acting()
        faults = sim.Faults(cluster, script=[sim.RefuseConnection(), sim.LoseResponse()])
        async with simulated(cluster, faults=faults) as client, anyio.create_task_group() as tasks:
            leading = LeaderElector(client, name="books", identity="a", coordinated=BY)
            tasks.start_soon(leading.run, acting.as_("a"))
            await anyio.sleep(20)
            spec = candidate(cluster, "a")
            assert (spec["leaseName"], spec["binaryVersion"], spec["emulationVersion"]) == (
                "books",
                "1.36.0",
                "1.36.0",
            )
            for _ in range(3):
                await anyio.sleep(100)
                renewed = candidate(cluster, "a")["renewTime"]
                ping = str(MicroTime.of(client.wall_clock()))
                cluster.edit(LeaseCandidate, "a", partial(pinged, ping))
                await anyio.sleep(1)
                assert candidate(cluster, "a")["renewTime"] >= ping > renewed
            cluster.remove(LeaseCandidate, "a")
            await anyio.sleep(1)
            assert candidate(cluster, "a")["leaseName"] == "books"
            tasks.cancel_scope.cancel()

    go(main)


def test_le_20_a_server_without_the_feature_is_complained_of_once(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(
                LeaderElector(client, name="books", identity="a", coordinated=BY).run, acting.as_("a")
            )
            await anyio.sleep(100)
            assert acting.history == []
            tasks.cancel_scope.cancel()

    with caplog.at_level(logging.WARNING, "kubeproto.leading"):
        go(main)
    [record] = caplog.records
    assert "leasecandidates" in record.getMessage()
