"""The scheduling of pods: the reasons against a node, their messages, and the later placement."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from nodes_rig import Json, Rig, pod

import kubeproto_sim as sim

GPU: Final = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def affinity(*expressions: Json, fields: tuple[Json, ...] = ()) -> Json:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"nodeAffinity": required}


def placed(rig: Rig, name: str = "web") -> str:
    node: str = rig.pod(name)["spec"].get("nodeName", "")
    return node


def refused(rig: Rig, name: str = "web") -> str:
    condition = rig.condition(name, "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    message: str = condition["message"]
    return message


def requests(**requests: str) -> list[Json]:
    return [{"name": "web", "image": "nginx", "resources": {"requests": requests}}]


UNFIT: Final[list[tuple[str, Json, Json, str]]] = [
    ("a taint", {"taints": [GPU]}, {}, "1 node(s) had untolerated taint(s)"),
    ("another value is tolerated", {"taints": [GPU]},
     {"tolerations": [{"key": "gpu", "value": "no", "effect": "NoSchedule"}]},
     "1 node(s) had untolerated taint(s)"),
    ("a node selector", {"labels": {"disk": "hdd"}}, {"nodeSelector": {"disk": "ssd"}},
     "1 node(s) didn't match Pod's node affinity/selector"),
    ("an affinity", {"labels": {"disk": "hdd"}},
     {"affinity": affinity({"key": "disk", "operator": "In", "values": ["ssd"]})},
     "1 node(s) didn't match Pod's node affinity/selector"),
    ("an affinity that is not greater", {"labels": {"cores": "4"}},
     {"affinity": affinity({"key": "cores", "operator": "Gt", "values": ["4"]})},
     "1 node(s) didn't match Pod's node affinity/selector"),
    ("too much cpu", {"capacity": {"cpu": "1"}}, {"containers": requests(cpu="1100m")}, "1 Insufficient cpu"),
    ("too much of everything", {"capacity": {"cpu": "1", "memory": "1Gi"}},
     {"containers": requests(cpu="2", memory="2Gi")}, "1 Insufficient cpu, 1 Insufficient memory"),
    ("too much for init", {"capacity": {"memory": "1Gi"}},
     {"initContainers": [requests(memory="2Gi")[0] | {"name": "i"}]}, "1 Insufficient memory"),
    ("no room for pods", {"capacity": {"pods": "0"}}, {}, "1 Too many pods"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "spec", "reason"), [row[1:] for row in UNFIT], ids=[row[0] for row in UNFIT]
)
def test_a_pod_that_fits_no_node_reports_the_reason(node: Json, spec: Json, reason: str) -> None:
    rig = Rig(0)
    rig.nodes.add(**node)
    rig.run(**spec)
    assert refused(rig) == f"0/1 nodes are available: {reason}."
    assert rig.phase() == "Pending"


FIT: Final[list[tuple[str, Json, Json]]] = [
    ("a toleration", {"taints": [GPU]}, {"tolerations": [GPU]}),
    ("a toleration of any value", {"taints": [GPU]}, {"tolerations": [{"key": "gpu", "operator": "Exists"}]}),
    ("a toleration of everything", {"taints": [GPU]}, {"tolerations": [{"operator": "Exists"}]}),
    ("a taint that only prefers", {"taints": [GPU | {"effect": "PreferNoSchedule"}]}, {}),
    ("a node selector", {"labels": {"disk": "ssd"}}, {"nodeSelector": {"disk": "ssd"}}),
    ("an affinity", {"labels": {"cores": "8"}},
     {"affinity": affinity({"key": "cores", "operator": "Gt", "values": ["4"]},
                           {"key": "cores", "operator": "Lt", "values": ["9"]})}),
    ("an affinity to a name, as of a DaemonSet's pods", {},
     {"affinity": affinity(fields=({"key": "metadata.name", "operator": "In", "values": ["node-1"]},))}),
    ("exactly what there is", {"capacity": {"cpu": "1", "memory": "1Gi"}},
     {"containers": requests(cpu="1", memory="1Gi")}),
]  # fmt: skip


@pytest.mark.parametrize(("node", "spec"), [row[1:] for row in FIT], ids=[row[0] for row in FIT])
def test_a_pod_is_placed_on_a_fitting_node(node: Json, spec: Json) -> None:
    rig = Rig(0)
    rig.nodes.add(**node)
    rig.run(**spec)
    assert (placed(rig), rig.phase()) == ("node-1", "Running")


def test_without_nodes_pods_wait_for_the_first() -> None:
    rig = Rig(0)
    rig.run()
    assert refused(rig) == "no nodes available to schedule pods"
    rig.nodes.add("late")
    rig.cluster.advance(1)
    assert placed(rig) == "late"
    assert rig.condition("web", "PodScheduled")["status"] == "True"


def test_a_cordoned_node_takes_no_pods_until_it_is_released() -> None:
    rig = Rig()
    rig.cluster.edit("v1/Node", "node-1", lambda node: node["spec"].update(unschedulable=True), "")
    rig.cluster.settle()
    node = rig.cluster.get("v1/Node", "node-1", "")
    assert node is not None
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["node.kubernetes.io/unschedulable"]
    rig.run()
    assert refused(rig) == "0/1 nodes are available: 1 node(s) were unschedulable."
    rig.cluster.edit("v1/Node", "node-1", lambda node: node["spec"].pop("unschedulable"), "")
    rig.cluster.advance(1)
    assert rig.phase() == "Running"
    node = rig.cluster.get("v1/Node", "node-1", "")
    assert node is not None
    assert "taints" not in node["spec"]


def test_a_waiting_pod_takes_the_resources_of_a_finished_pod() -> None:
    rig = Rig(0)
    rig.nodes.add(capacity={"cpu": "1"})
    rig.run("first", containers=requests(cpu="1"), restartPolicy="Never")
    rig.run("second", containers=requests(cpu="1"))
    assert placed(rig, "second") == ""
    rig.nodes.exit("first", 0)
    rig.cluster.advance(1)
    assert rig.phase("second") == "Running"


def test_a_waiting_pod_takes_the_resources_of_a_deleted_pod() -> None:
    rig = Rig(0)
    rig.nodes.add(capacity={"cpu": "1"})
    rig.run("first", containers=requests(cpu="1"))
    rig.run("second", containers=requests(cpu="1"))
    assert placed(rig, "second") == ""
    rig.cluster.remove("v1/Pod", "first")
    rig.cluster.advance(60)
    assert rig.phase("second") == "Running"


def test_the_pod_of_higher_priority_is_placed_first_and_then_the_older() -> None:
    rig = Rig(0)
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
            "value": 1000}  # fmt: skip
    rig.cluster.put(high)
    pods: tuple[tuple[str, Json], ...] = (
        ("old", {}), ("important", {"priorityClassName": "high", "priority": 1000}),
    )  # fmt: skip
    for name, spec in pods:
        rig.cluster.put(pod(name, containers=requests(cpu="1"), **spec))
        rig.cluster.advance(1)
    rig.nodes.add(capacity={"cpu": "1"})
    rig.cluster.advance(1)
    assert (placed(rig, "important"), placed(rig, "old")) == ("node-1", "")


def test_two_pods_with_the_same_host_port_are_placed_on_two_nodes() -> None:
    rig = Rig(2)
    ports = [{"name": "web", "image": "nginx", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    for name in ("a", "b", "c"):
        rig.run(name, containers=ports)
    assert {placed(rig, "a"), placed(rig, "b")} == {"node-1", "node-2"}
    assert refused(rig, "c").endswith("2 node(s) didn't have free ports for the requested pod ports.")


@pytest.mark.parametrize("spec", [{"schedulerName": "other"}, {"schedulingGates": [{"name": "wait"}]}])
def test_a_pod_of_another_scheduler_is_ignored(spec: dict[str, Any]) -> None:
    rig = Rig()
    rig.run(**spec)
    assert placed(rig) == ""
    conditions = rig.pod()["status"].get("conditions", [])
    assert not [condition for condition in conditions if condition["type"] == "PodScheduled"
                and condition.get("reason") == "Unschedulable"]  # fmt: skip


def test_a_pod_that_a_user_bound_runs_on_its_node() -> None:
    rig = Rig(2)
    rig.run(nodeName="node-2")
    assert (placed(rig), rig.phase()) == ("node-2", "Running")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=25), st.integers(1, 4))
def test_no_node_is_overcommitted_and_no_pod_waits_for_free_resources(sizes: list[int], count: int) -> None:
    cluster = sim.Cluster(managed_fields=False)
    nodes = cluster.nodes(0, ready_after=0)
    for _ in range(count):
        nodes.add(capacity={"cpu": "10"})
    for number, size in enumerate(sizes):
        cluster.put(pod(f"p{number}", containers=requests(cpu=str(size))))
    cluster.settle()
    pod_counts = dict.fromkeys(nodes.names, 0)
    waiting: list[int] = []
    for number, size in enumerate(sizes):
        stored_pod = cluster.get("v1/Pod", f"p{number}")
        assert stored_pod is not None
        if node := stored_pod["spec"].get("nodeName"):
            pod_counts[node] += size
        else:
            waiting.append(size)
    assert all(count <= 10 for count in pod_counts.values())
    assert all(size > 10 - count for size in waiting for count in pod_counts.values())
