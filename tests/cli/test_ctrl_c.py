"""Ctrl-C on a terminal ends each command that waits for a cluster: with 130, without a traceback."""

from __future__ import annotations

import time
from typing import Any

import pytest
from command_processes import CommandLine

import kubeproto_sim as sim

pytestmark = pytest.mark.one_python


def pod(name: str, image: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "default", "finalizers": ["e.example.com/stays"],
        },
        "spec": {"containers": [{"name": "main", "image": image}], "nodeName": "node-1"},
    }  # fmt: skip


@pytest.fixture
def busy(cli: CommandLine) -> CommandLine:
    """A cluster with a node, and a pod on it that writes a line, waits forever, and does not go."""

    def fill() -> None:
        program = sim.Program(log="begun\n")
        cli.cluster.nodes(1, ready_after=0, ends_after=0, programs={"app": program})
        cli.cluster.settle()
        [node] = cli.cluster.objects("v1/Node")
        made = pod("web", "app")
        made["spec"]["nodeName"] = node["metadata"]["name"]
        cli.cluster.put(made)
        cli.cluster.settle()

    cli.server.call(fill)
    return cli


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("logs -f web", "begun"),
        ("port-forward web :80", "Forwarding from"),
        ("drain NODE --force", "it was evicted, and has not gone"),
        ("wait pod/web --for=delete --timeout=5m", ""),
        ("watch pods -o jsonl", '"ADDED"'),
    ],
)
def test_ctrl_c_ends_what_waits(busy: CommandLine, words: str, shown: str) -> None:
    def node() -> str:
        [found] = busy.cluster.objects("v1/Node")
        return str(found["metadata"]["name"])

    command = words.replace("NODE", busy.server.call(node)).split()
    with busy.terminal(*command, columns=200) as terminal:
        if shown:
            terminal.wait_for(lambda screen: shown in terminal.output)
        else:
            while not busy.server.call(lambda: list(busy.cluster.watches)):
                assert terminal.process.poll() is None
                time.sleep(0.01)  # the core is for the process that starts
        terminal.send("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output
