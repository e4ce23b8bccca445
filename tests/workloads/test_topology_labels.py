"""A pod gets the zone and the region of its node, however it is placed there."""

from __future__ import annotations

import json
from typing import Any

from topology_cases import PLACE, placed

import kubeproto_sim as sim
from kubeproto.wire import RawRequest


def sender(cluster: sim.Cluster) -> Any:
    def send(method: str, target: str, body: Any) -> Any:
        data = b"" if method == "GET" else json.dumps(body).encode()
        answer = cluster.respond(RawRequest(method, target, (("Content-Type", "application/json"),), data))
        assert isinstance(answer.body, bytes)
        assert answer.status < 300, answer.body
        return json.loads(answer.body)

    return send


def test_a_pod_created_on_a_node_or_bound_to_it_gets_its_topology() -> None:
    labels = placed(sender(sim.Cluster()))
    assert labels == {
        "named placed": {"app": "x"} | PLACE,
        "named unplaced": {"app": "x", "topology.kubernetes.io/zone": "elsewhere"},
        "named missing": {"app": "x", "topology.kubernetes.io/zone": "elsewhere"},
        "bound placed": [{"app": "y", "rack": "7"} | PLACE, {"by": "me"}],
        "bound unplaced": [
            {"app": "y", "rack": "7", "topology.kubernetes.io/zone": "elsewhere"}, {"by": "me"},
        ],
        "bound missing": [
            {"app": "y", "rack": "7", "topology.kubernetes.io/zone": "elsewhere"}, {"by": "me"},
        ],
    }  # fmt: skip


def test_the_scheduler_copies_the_topology_too() -> None:
    cluster = sim.Cluster()
    cluster.nodes()
    name = cluster.objects("v1/Node")[0]["metadata"]["name"]
    cluster.edit("v1/Node", name, lambda node: node["metadata"].setdefault("labels", {}).update(PLACE), "")
    spec = {"containers": [{"name": "c", "image": "i"}]}
    cluster.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec})
    cluster.advance(1)
    pod = cluster.get("v1/Pod", "web")
    assert pod is not None
    assert pod["metadata"]["labels"] == PLACE


def test_before_1_35_the_topology_is_not_copied() -> None:
    labels = placed(sender(sim.Cluster(kubernetes="1.34")))
    assert labels["named placed"] == {"app": "x", "topology.kubernetes.io/zone": "elsewhere"}
    assert labels["bound placed"] == [{"app": "x", "topology.kubernetes.io/zone": "elsewhere"}, {"by": "me"}]
