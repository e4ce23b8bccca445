"""The controllers of a cluster, and their switches for tests."""

from __future__ import annotations

from typing import Any

import pytest
from deployment_cases import deployment, template

import kubeproto_sim as sim

SETS, PODS = "apps/v1/ReplicaSet", "v1/Pod"


def cluster(*names: str) -> sim.Cluster:
    return sim.Cluster(controllers=names or True)


def pods(cluster: sim.Cluster) -> int:
    return len(cluster.objects(PODS))


def scale(cluster: sim.Cluster, replicas: int) -> None:
    cluster.edit("apps/v1/Deployment", "web", lambda obj: obj["spec"].update(replicas=replicas))


def test_without_controllers_a_deployment_is_only_an_object() -> None:
    bare = sim.Cluster()
    bare.put(deployment())
    bare.advance(60)
    assert bare.objects(SETS) == []
    assert set(bare.controllers) == {
        "garbage-collector-controller", "namespace-controller", "clusterrole-aggregation-controller",
    }  # fmt: skip


def test_some_controllers_run_without_the_others() -> None:
    some = cluster("deployment", "replicaset-controller")
    some.put(deployment())
    some.put({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"},
              "spec": {"template": template(restartPolicy="Never")}})  # fmt: skip
    some.settle()
    assert pods(some) == 3
    assert {owner["kind"] for pod in some.objects(PODS) for owner in pod["metadata"]["ownerReferences"]} == {
        "ReplicaSet"
    }


def test_all_controllers_but_one_run() -> None:
    most = cluster("*", "-replicaset")
    most.put(deployment())
    most.advance(5)
    assert len(most.objects(SETS)) == 1
    assert pods(most) == 0
    assert "replicaset-controller" not in most.controllers


def test_an_unknown_controller_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no controller has the name 'pod-controller'; the names are "):
        cluster("pod")
    with pytest.raises(KeyError, match="the cluster does not run 'job', only "):
        cluster("deployment").controllers["job"].stop()


def test_a_stopped_controller_processes_the_changes_when_it_is_restarted() -> None:
    it = cluster()
    switch = it.controllers["replicaset"]
    switch.stop()
    assert not switch.running
    it.put(deployment())
    it.advance(60)
    assert pods(it) == 0
    switch.start()
    it.settle()
    assert pods(it) == 3


def test_a_slow_controller_acts_its_delay_after_a_change() -> None:
    it = cluster()
    it.controllers["replicaset"].slow(30)
    it.put(deployment())
    it.advance(29.9)
    assert pods(it) == 0
    it.advance(0.2)
    assert pods(it) == 3
    assert it.controllers["replicaset"].delay == 30
    with pytest.raises(ValueError, match="cannot act before a change: -1 seconds"):
        it.controllers["replicaset"].slow(-1)


def test_a_failing_controller_retries_after_a_backoff_that_doubles() -> None:
    it = cluster()
    it.controllers["replicaset"].fail(3)
    start = it.now
    it.put(deployment())
    it.wait(lambda: pods(it))
    assert it.now - start == pytest.approx(0.005 + 0.01 + 0.02, abs=1e-6)


def test_an_always_failing_controller_fails_until_it_is_reset() -> None:
    it = cluster()
    it.controllers["replicaset"].fail()
    it.put(deployment())
    it.advance(100)
    assert pods(it) == 0
    it.controllers["replicaset"].fail(0)
    it.advance(1001)
    assert pods(it) == 3


@pytest.mark.parametrize("hinder", ["stop", "slow", "fail"])
def test_the_garbage_collector_has_the_same_switches(hinder: str) -> None:
    it = cluster()
    switch = it.controllers["garbage-collector"]
    it.put(deployment())
    it.settle()
    match hinder:
        case "stop":
            switch.stop()
        case "slow":
            switch.slow(10)
        case _:
            switch.fail(5)
    it.remove("apps/v1/Deployment", "web")
    it.settle()
    assert pods(it) == 3
    switch.start()
    it.advance(30)
    assert pods(it) == 0


def test_a_driver_of_the_clock_is_notified_of_a_controller_that_continues() -> None:
    it = cluster()
    heard: list[float] = []
    it.controllers["replicaset"].stop()
    it.put(deployment())
    it.settle()
    it.on_due = lambda: heard.append(it.now)
    it.controllers["replicaset"].start()
    assert heard
    assert it.next_due == it.now


def test_a_fork_continues_independently_with_the_same_switches() -> None:
    it = cluster()
    it.put(deployment(progressDeadlineSeconds=10))
    it.controllers["replicaset"].slow(3)
    it.advance(4)
    scale(it, 5)
    twin = it.fork()
    assert twin.controllers["replicaset"].delay == 3
    assert pods(twin) == 3
    twin.advance(4)
    assert (pods(twin), pods(it)) == (5, 3)
    it.advance(4)
    assert pods(it) == 5
    twin.advance(60)
    assert condition(twin, "Progressing")["reason"] == "ProgressDeadlineExceeded"


def test_after_a_restart_controllers_know_the_stored_objects() -> None:
    it = cluster()
    it.put(deployment())
    it.settle()
    snapshot = it.snapshot()
    other = sim.Cluster(controllers=True)
    other.restore(snapshot)
    other.settle()
    assert pods(other) == 3
    other.remove(PODS, other.objects(PODS)[0]["metadata"]["name"])
    scale(other, 4)
    other.settle()
    assert pods(other) == 4


def condition(cluster: sim.Cluster, type_: str) -> dict[str, Any]:
    deployment_ = cluster.get("apps/v1/Deployment", "web")
    assert deployment_ is not None
    return next(entry for entry in deployment_["status"]["conditions"] if entry["type"] == type_)


def test_a_namespace_with_workloads_ends() -> None:
    it = cluster()
    obj = deployment()
    obj["metadata"]["namespace"] = "old"
    it.put(obj)
    it.advance(5)
    assert pods(it) == 3
    it.blocking_transport()
    from kubeproto.wire import RawRequest

    answer = it.respond(RawRequest("DELETE", "/api/v1/namespaces/old", (), b""))
    assert answer.status == 200
    it.advance(60)
    assert it.get("v1/Namespace", "old") is None
    assert pods(it) == 0
