"""Draining a node: which pods are evicted, left and refused; budgets that say no; pods that do not go."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import pytest
from draining_scenario import a_node_is_drained
from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import Node, Pod
from kubeproto_runtime import conditions
from kubeproto_runtime.testing import simulated, simulated_blocking
from kubeproto_runtime.writing import DrainError, decide_eviction

__all__ = ["go"]


def owned(kind: str) -> dict[str, Any]:
    return {"metadata": {"ownerReferences": [{"kind": kind, "controller": True}]}}


EMPTY_DIR: Final[dict[str, Any]] = {
    "spec": {"volumes": [{"name": "a", "configMap": {}}, {"name": "tmp", "emptyDir": {}}]}
}
MIRROR: Final = {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}
UNCONTROLLED: Final = {"metadata": {"ownerReferences": [{"kind": "Book"}]}}
ENDED: Final = {"status": {"phase": "Succeeded"}}
LOST: Final = "no controller would replace it"
LOCAL: Final = "its emptyDir would be lost"

# A pod, what the caller allows, what happens to it, and how the reason begins.
ROWS: Final[dict[str, tuple[dict[str, Any], dict[str, bool], str, str]]] = {
    "of a ReplicaSet": (owned("ReplicaSet"), {}, "evict", ""),
    "of a DaemonSet": (owned("DaemonSet"), {"force": True}, "skip", "a DaemonSet runs it"),
    "of a DaemonSet, ended": (owned("DaemonSet") | ENDED, {}, "evict", ""),
    "a mirror": (MIRROR, {"force": True}, "skip", "it mirrors a static pod"),
    "of nobody": ({"metadata": {}}, {}, "refuse", LOST),
    "of an owner that does not control it": (UNCONTROLLED, {}, "refuse", LOST),
    "of nobody, forced": ({"metadata": {}}, {"force": True}, "evict", ""),
    "of nobody, ended": ({"metadata": {}} | ENDED, {}, "evict", ""),
    "with local data": (owned("ReplicaSet") | EMPTY_DIR, {"force": True}, "refuse", LOCAL),
    "with local data, allowed": (owned("ReplicaSet") | EMPTY_DIR, {"delete_local_data": True}, "evict", ""),
    "with local data, ended": (owned("Job") | EMPTY_DIR | ENDED, {}, "evict", ""),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_what_happens_to_a_pod(row: str) -> None:
    pod, allowed, what, why = ROWS[row]
    decided, reason = decide_eviction(pod, **allowed)
    assert decided == what
    assert reason.startswith(why)
    assert bool(reason) == bool(why)


def web(replicas: int) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def budget(least: int) -> dict[str, Any]:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def allows(cluster: sim.Cluster) -> bool:
    found: Any = cluster.get("policy/v1/PodDisruptionBudget", "web")
    return bool(found["status"].get("disruptionsAllowed"))


def alone() -> dict[str, Any]:
    spec = {"nodeName": "node-1", "containers": [{"name": "alone", "image": "web"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": spec}


def cluster_of_two() -> sim.Cluster:
    cluster = sim.Cluster(populated=True, controllers=True)
    cluster.nodes(2, ready_after=3)
    return cluster


def on(cluster: sim.Cluster, node: str) -> list[str]:
    return [one["metadata"]["name"] for one in cluster.objects(Pod) if one["spec"].get("nodeName") == node]


def test_a_node_is_drained_as_its_budget_allows(go: Go) -> None:
    async def main() -> None:
        cluster = cluster_of_two()
        async with simulated(cluster) as client:
            cluster.put(web(4))
            cluster.put(budget(3))
            await client.api(Deployment).wait_for("web", conditions.rolled_out())
            before = on(cluster, "node-1")
            assert len(before) == 2
            await client.until(lambda: allows(cluster))
            steps: list[tuple[str, str]] = []
            done = await client.drain(
                "node-1", progress=lambda ref, step: steps.append((f"{ref.kind}/{ref.name}", step))
            )
            assert sorted(ref.name for ref in done.evicted) == sorted(before)
            assert steps[0] == ("Node/node-1", "it is cordoned")
            for name in before:
                assert (f"Pod/{name}", "it is evicted, and terminating") in steps
                assert [step for pod, step in steps if pod == f"Pod/{name}"][-1] == "it is deleted"
            assert on(cluster, "node-1") == []
            found: Any = cluster.get(Node, "node-1", "")
            assert found["spec"]["unschedulable"] is True
            # One of them had to wait until the other one's successor was available.
            evictions = [one for one in cluster.log if one.request.target.endswith("/eviction")]
            assert {one.status for one in evictions} == {201, 429}
            again = await client.drain("node-1")
            assert again.evicted == ()

    go(main)


def test_a_pod_that_would_be_lost_is_refused_before_anything_is_evicted(go: Go) -> None:
    async def main() -> None:
        cluster = cluster_of_two()
        async with simulated(cluster) as client:
            cluster.put(web(2))
            cluster.put(alone())
            await client.api(Deployment).wait_for("web", conditions.rolled_out())
            before = on(cluster, "node-1")
            with pytest.raises(DrainError, match="node-1 is cordoned and not drained: Pod default/alone: no"):
                await client.drain("node-1")
            assert on(cluster, "node-1") == before
            done = await client.drain("node-1", force=True)
            assert "alone" in [ref.name for ref in done.evicted]
            assert on(cluster, "node-1") == []

    go(main)


def test_a_budget_that_never_allows_it_is_named_in_time() -> None:
    cluster = cluster_of_two()
    with simulated_blocking(cluster) as client:
        cluster.put(web(2))
        cluster.put(budget(2))
        client.api(Deployment).wait_for("web", conditions.rolled_out())
        begun = cluster.now
        with pytest.raises(DrainError, match="The disruption budget web needs 2 healthy pods") as caught:
            client.drain("node-1", timeout=30)
        assert cluster.now - begun < 60
        assert [ref.name for ref, _ in caught.value.pods] == on(cluster, "node-1")
        with pytest.raises(kp.NotFound):
            client.drain("node-9")


def test_a_pod_that_takes_the_name_of_an_evicted_one_stays(go: Go) -> None:
    async def main() -> None:
        cluster = cluster_of_two()
        async with simulated(cluster) as client:
            pod = alone() | {"metadata": {"name": "alone", "labels": {"app": "web"}}}
            cluster.put(pod)
            cluster.put(budget(1))
            await client.api(Pod).wait_for("alone", conditions.condition("Ready"))
            refusals: list[str] = []

            def replace(ref: object, state: str) -> None:
                if "disruption budget" in state and not refusals:
                    refusals.append(state)
                    cluster.remove(Pod, "alone")
                    cluster.remove("policy/v1/PodDisruptionBudget", "web")
                    cluster.put(pod | {"spec": pod["spec"] | {"nodeName": "node-2"}})

            await client.drain("node-1", force=True, progress=replace)
            assert len(refusals) == 1
            found: Any = cluster.get(Pod, "alone")
            assert "deletionTimestamp" not in found["metadata"]

    go(main)


def test_a_pod_with_several_budgets_is_named_and_the_others_are_evicted(go: Go) -> None:
    async def main() -> None:
        cluster = cluster_of_two()
        async with simulated(cluster) as client:
            cluster.put(web(2))
            cluster.put(alone())
            labels = {"app": "alone"}
            cluster.edit(Pod, "alone", lambda pod: pod["metadata"].update(labels=labels))
            for name in ("one", "two"):
                both: Any = budget(1)
                both["metadata"]["name"] = name
                both["spec"]["selector"] = {"matchLabels": labels}
                cluster.put(both)
            await client.api(Deployment).wait_for("web", conditions.rolled_out())
            with pytest.raises(
                DrainError, match="default/alone: several disruption budgets select it"
            ) as caught:
                await client.drain("node-1", force=True, timeout=3600)
            assert [ref.name for ref, _ in caught.value.pods] == ["alone"]
            assert on(cluster, "node-1") == ["alone"]
            evictions = [one for one in cluster.log if one.request.target.endswith("alone/eviction")]
            assert [one.status for one in evictions] == [500]

    go(main)


def test_a_refused_eviction_is_not_repeated_for_five_seconds() -> None:
    cluster = cluster_of_two()
    with simulated_blocking(cluster) as client:
        cluster.put(web(2))
        cluster.put(budget(2))
        client.api(Deployment).wait_for("web", conditions.rolled_out())
        with pytest.raises(DrainError):
            client.drain("node-1", timeout=30)
    times = [one.time for one in cluster.log if one.request.target.endswith("/eviction")]
    assert sum(later - earlier >= 5 for earlier, later in pairwise(times)) >= 3


def test_a_node_is_drained_as_on_a_real_server(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster(populated=True, controllers=True)
        async with simulated(cluster) as client:
            await a_node_is_drained(client)

    go(main)
