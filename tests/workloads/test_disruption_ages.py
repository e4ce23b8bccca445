"""Announced disruptions that do not happen are withdrawn: evictions that delete nothing, and disruption
conditions.
"""

from __future__ import annotations

from typing import Any, Final

import kubeproto_sim as sim

BUDGET: Final = "policy/v1/PodDisruptionBudget"
Json = dict[str, Any]


def cluster_with_budget() -> sim.Cluster:
    """Return a cluster with two ready pods, of which a budget requires one."""
    cluster = sim.Cluster(controllers=("disruption-controller",))
    for name in ("a", "b"):
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        cluster.put({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running", "conditions": [ready]},
        })  # fmt: skip
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    cluster.put(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": spec}
    )
    cluster.settle()
    return cluster


def status(cluster: sim.Cluster) -> tuple[int, list[str]]:
    """Return how many disruptions the budget allows, and the pods that it expects to disappear."""
    budget = cluster.get(BUDGET, "web")
    assert budget is not None
    return budget["status"]["disruptionsAllowed"], list(budget["status"].get("disruptedPods", {}))


def test_an_evicted_pod_that_stays_counts_again_after_two_minutes() -> None:
    cluster = cluster_with_budget()
    assert status(cluster) == (1, [])
    evicted = {"disruptedPods": {"a": "2026-01-01T00:00:00Z"}}
    cluster.edit(BUDGET, "web", lambda budget: budget["status"].update(evicted))
    cluster.settle()
    assert status(cluster) == (0, ["a"])
    cluster.advance(119)
    assert status(cluster) == (0, ["a"])
    cluster.advance(2)
    assert status(cluster) == (1, [])
    reasons = {(event["reason"], event["involvedObject"]["name"]) for event in cluster.objects("v1/Event")}
    assert reasons == {("NotDeleted", "a")}


def test_an_evicted_pod_that_is_deleted_is_immediately_forgotten() -> None:
    cluster = cluster_with_budget()
    evicted = {"disruptedPods": {"a": "2026-01-01T00:00:00Z"}}
    cluster.edit(BUDGET, "web", lambda budget: budget["status"].update(evicted))
    cluster.settle()
    cluster.remove("v1/Pod", "a")
    cluster.settle()
    assert status(cluster) == (0, [])
    assert cluster.objects("v1/Event") == []


def condition(cluster: sim.Cluster) -> Json:
    pod = cluster.get("v1/Pod", "a")
    assert pod is not None
    conditions: list[Json] = [
        entry for entry in pod["status"]["conditions"] if entry["type"] == "DisruptionTarget"
    ]
    assert len(conditions) == 1
    return conditions[0]


def announce(cluster: sim.Cluster, reason: str) -> None:
    condition_ = {
        "type": "DisruptionTarget", "status": "True", "reason": reason, "message": "it goes",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    cluster.edit("v1/Pod", "a", lambda pod: pod["status"]["conditions"].append(condition_))
    cluster.settle()


def test_a_disruption_that_does_not_happen_is_withdrawn_after_two_minutes() -> None:
    cluster = cluster_with_budget()
    announce(cluster, "EvictionByEvictionAPI")
    cluster.advance(119)
    assert condition(cluster)["status"] == "True"
    cluster.advance(2)
    target = condition(cluster)
    assert (target["status"], target["lastTransitionTime"]) == ("False", "2026-01-01T00:02:00Z")
    assert target.keys() & {"reason", "message"} == set()


def test_a_condition_of_a_kubelet_stays() -> None:
    cluster = cluster_with_budget()
    announce(cluster, "TerminationByKubelet")
    cluster.advance(600)
    assert condition(cluster)["status"] == "True"
