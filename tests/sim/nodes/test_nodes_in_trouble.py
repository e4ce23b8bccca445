"""Nodes that fail, become silent, are tainted or deleted: the effects on them and on their pods."""

from __future__ import annotations

from typing import Any

import pytest
from nodes_rig import Json, Rig

from kubeproto import LocalProtocolError


def node(rig: Rig, name: str = "node-1") -> Json:
    node_ = rig.cluster.get("v1/Node", name)
    assert node_ is not None
    return node_


def ready(rig: Rig, name: str = "node-1") -> Json:
    condition: Json = next(
        entry for entry in node(rig, name)["status"]["conditions"] if entry["type"] == "Ready"
    )
    return condition


def taints(rig: Rig, name: str = "node-1") -> list[tuple[str, str]]:
    return [(taint["key"], taint["effect"]) for taint in node(rig, name)["spec"].get("taints", [])]


def test_a_node_reports_its_state_and_renews_its_lease() -> None:
    rig = Rig(2)
    node_ = node(rig, "node-2")
    assert node_["metadata"]["labels"]["kubernetes.io/hostname"] == "node-2"
    assert node_["status"]["addresses"][0] == {"type": "InternalIP", "address": "172.18.0.4"}
    assert node_["status"]["allocatable"]["cpu"] == "8"
    assert {condition["type"]: condition["status"] for condition in node_["status"]["conditions"]} == {
        "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True",
    }  # fmt: skip
    rig.cluster.advance(35)
    lease = rig.cluster.get("coordination.k8s.io/v1/Lease", "node-2", "kube-node-lease")
    assert lease is not None
    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:30.000000Z"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node_["metadata"]["uid"]


def test_a_silent_node_is_unreachable_after_fifty_seconds_and_loses_its_pods_after_five_minutes() -> None:
    rig = Rig()
    rig.run()
    rig.nodes.stop("node-1")
    rig.cluster.advance(48)
    assert ready(rig)["status"] == "True"
    rig.cluster.advance(2)
    assert (ready(rig)["status"], ready(rig)["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert ready(rig)["lastHeartbeatTime"] == "2026-01-01T00:00:00Z"
    assert taints(rig) == [
        ("node.kubernetes.io/unreachable", "NoSchedule"), ("node.kubernetes.io/unreachable", "NoExecute"),
    ]  # fmt: skip
    assert rig.condition("web", "Ready")["status"] == "False"
    assert rig.phase() == "Running"
    rig.cluster.advance(298)
    assert "deletionTimestamp" not in rig.pod()["metadata"]
    rig.cluster.advance(2)
    assert "deletionTimestamp" in rig.pod()["metadata"]
    assert rig.condition("web", "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    rig.cluster.advance(3600)
    assert rig.pod()["metadata"]["deletionTimestamp"]  # the kubelet that could end the pod is silent
    rig.nodes.start("node-1")
    rig.cluster.settle()
    assert rig.cluster.get("v1/Pod", "web") is None
    assert (ready(rig)["status"], taints(rig)) == ("True", [])


def test_nothing_happens_on_a_silent_node() -> None:
    rig = Rig(ready_after=5)
    rig.run(until=1)
    rig.nodes.stop("node-1")
    rig.cluster.advance(20)
    assert rig.phase() == "Pending"
    rig.nodes.start("node-1")
    rig.cluster.settle()
    assert rig.phase() == "Running"


def test_a_pod_with_a_shorter_toleration_leaves_a_lost_node_sooner() -> None:
    rig = Rig()
    key = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    rig.run("quick", tolerations=[key | {"tolerationSeconds": 10}])
    rig.run("patient", tolerations=[key])
    rig.nodes.stop("node-1")
    rig.cluster.advance(62)
    assert "deletionTimestamp" in rig.pod("quick")["metadata"]
    rig.cluster.advance(86_400)
    assert "deletionTimestamp" not in rig.pod("patient")["metadata"]


def test_a_node_that_fails_is_not_ready_and_its_pods_are_not_either() -> None:
    rig = Rig()
    rig.run()
    rig.nodes.fail("node-1", "container runtime is down")
    assert (ready(rig)["status"], ready(rig)["message"]) == ("False", "container runtime is down")
    assert taints(rig)[0] == ("node.kubernetes.io/not-ready", "NoSchedule")
    condition = rig.condition("web", "Ready")
    assert (condition["status"], condition.get("reason")) == ("False", "NodeNotReady")
    rig.nodes.recover("node-1")
    assert (ready(rig)["status"], taints(rig)) == ("True", [])
    assert rig.condition("web", "Ready")["status"] == "True"


def test_a_no_execute_taint_ends_the_pods_that_do_not_tolerate_it() -> None:
    rig = Rig()
    rig.run("web")
    rig.run("kept", tolerations=[{"key": "maintenance", "operator": "Exists"}])
    taint = {"key": "maintenance", "effect": "NoExecute"}
    rig.cluster.edit("v1/Node", "node-1", lambda node: node["spec"].update(taints=[taint]))
    rig.cluster.settle()
    assert "deletionTimestamp" in rig.pod("web")["metadata"]
    rig.cluster.advance(400)
    assert rig.cluster.get("v1/Pod", "web") is None
    assert rig.phase("kept") == "Running"
    assert taints(rig) == [("maintenance", "NoExecute")]


def test_the_pods_of_a_deleted_node_are_deleted() -> None:
    rig = Rig(2)
    rig.run("a")
    rig.run("b")
    deleted_node = rig.pod("a")["spec"]["nodeName"]
    rig.cluster.remove("v1/Node", deleted_node)
    rig.cluster.settle()
    assert rig.cluster.get("v1/Pod", "a") is None
    assert rig.phase("b") == "Running"
    with pytest.raises(LocalProtocolError, match=f"no simulated node has the name '{deleted_node}'"):
        rig.nodes.stop(deleted_node)
    rig.cluster.advance(60)
    assert rig.cluster.get("v1/Node", deleted_node) is None


@pytest.mark.parametrize(
    ("method", "message"),
    [("start", "Started cannot happen to a node that is healthy"),
     ("recover", "Recovered cannot happen to a node that is healthy")],
)  # fmt: skip
def test_an_impossible_event_of_a_node_is_refused(method: str, message: str) -> None:
    rig = Rig()
    act: Any = getattr(rig.nodes, method)
    with pytest.raises(LocalProtocolError, match=message):
        act("node-1")


def test_a_node_can_be_added_only_once() -> None:
    rig = Rig()
    with pytest.raises(LocalProtocolError, match="has a node 'node-1' already"):
        rig.nodes.add("node-1")
