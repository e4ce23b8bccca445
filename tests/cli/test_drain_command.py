"""`kubeproto drain` as a process: what is evicted, what is left, and what is in the way."""

from __future__ import annotations

from typing import Any

import pytest
from command_processes import CommandLine

import kubeproto_sim as sim

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


@pytest.mark.needs("kubectl")
def test_the_steps_are_printed_as_kubectl_prints_them(cli: CommandLine) -> None:
    """On standard output; what kubectl says of pods that it leaves, and of budgets, is worded otherwise."""

    def begin() -> None:
        cli.cluster.nodes(1, ready_after=0, ends_after=0)
        for kind in ("DaemonSet", "StatefulSet"):
            cli.cluster.put(workload(kind))
        cli.cluster.put(owned_pod(cli.cluster, "agent", "DaemonSet"))

    def fill() -> None:
        for name in ("web", "db"):
            cli.cluster.put(owned_pod(cli.cluster, name, "StatefulSet"))
        cli.cluster.settle()

    def there() -> tuple[list[str], bool]:
        pods = [one["metadata"]["name"] for one in cli.cluster.objects("v1/Pod")]
        [node] = cli.cluster.objects("v1/Node")
        return pods, node["spec"].get("unschedulable", False)

    def steps(printed: str) -> list[str]:
        lines = printed.splitlines()
        return [lines[0], *sorted(lines[1:-1]), lines[-1]]  # kubectl evicts several at once

    cli.server.call(begin)
    for words in ([], ["--grace-period", "0"]):
        printed: dict[str, list[str]] = {}
        for program in (cli.kubectl, cli.call):
            cli.kubectl("uncordon", "node-1")
            cli.server.call(fill)
            for again in ("", " again"):  # then there is nothing left to do
                done = program("drain", "node-1", "--ignore-daemonsets", *words)
                assert (done.returncode, cli.server.call(there)) == (0, (["agent"], True)), done.stderr
                printed[f"{program.__name__}{again}"] = steps(done.stdout)
        assert printed["call"] == printed["kubectl"]
        assert printed["call again"] == printed["kubectl again"]
        assert printed["call"][0] == "node/node-1 cordoned"
        assert printed["call again"] == ["node/node-1 already cordoned", "node/node-1 drained"]


def workload(kind: str) -> dict[str, Any]:
    """Return one that has no pods of its own: no controller runs here."""
    labels = {"app": kind.lower()}
    containers = [{"name": "main", "image": "one:1"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = "o"
    return {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "o", "namespace": "default"},
        "spec": spec,
    }  # fmt: skip


def owned_pod(cluster: sim.Cluster, name: str, kind: str) -> dict[str, Any]:
    """Return a pod whose owner exists: the garbage collector deletes one that nobody owns any more."""
    owner = cluster.get(f"apps/v1/{kind}", "o")
    assert owner is not None
    made = pod(name, kind)
    made["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
    del made["status"]
    return made


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
