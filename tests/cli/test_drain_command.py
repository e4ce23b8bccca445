"""`kubeproto drain` as a process: what is evicted, what is left, and what is in the way."""

from __future__ import annotations

from typing import Any

import pytest
from command_processes import CommandLine

pytestmark = pytest.mark.one_python


def pod(name: str, controller: str = "", **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": controller, "name": "o", "uid": "u", "controller": True}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "ownerReferences": [owner] if controller else [],
        },
        "spec": {"containers": [{"name": "main", "image": "one:1"}], "nodeName": "node-1"} | spec,
        "status": {"phase": "Running"},
    }  # fmt: skip


@pytest.fixture
def node(cli: CommandLine) -> CommandLine:
    def fill() -> None:
        cli.cluster.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
        cli.cluster.put(pod("web", "StatefulSet"))
        cli.cluster.put(pod("agent", "DaemonSet"))

    cli.server.call(fill)
    return cli


def test_a_node_is_cordoned_and_drained(node: CommandLine) -> None:
    done = node.run("drain", "node-1", "--ignore-daemonsets", "--grace-period", "0", "--timeout", "2m")
    assert done.stdout == (
        "node/node-1 cordoned\nevicting pod default/web\npod/web evicted\nnode/node-1 drained\n"
    )
    assert "default/web: it was evicted, and has not gone\n" in done.stderr
    assert "pod/agent left: a DaemonSet runs it on every node" in done.stderr
    found = node.server.call(node.cluster.get, "v1/Node", "node-1", "")
    assert found is not None
    assert found["spec"]["unschedulable"] is True


def test_a_pod_that_would_be_lost_is_named_with_the_option_that_loses_it(node: CommandLine) -> None:
    def more() -> None:
        node.cluster.put(pod("alone"))
        node.cluster.put(pod("local", "StatefulSet", volumes=[{"name": "tmp", "emptyDir": {}}]))

    node.server.call(more)
    done = node.call("drain", "node-1")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "node/node-1 cordoned\n", 1)
    assert done.stderr.startswith("kubeproto drain: node/node-1 is cordoned and not drained: default/")
    assert "default/alone: no controller makes another one; --force to lose it" in done.stderr
    assert "default/local: its data are in an emptyDir; --delete-emptydir-data to lose them" in done.stderr
    assert node.server.call(node.cluster.get, "v1/Pod", "web") is not None


def test_a_node_that_does_not_exist_is_one_line(node: CommandLine) -> None:
    done = node.call("drain", "node-2")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert 'nodes "node-2" not found' in done.stderr
