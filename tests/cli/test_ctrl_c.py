"""Ctrl-C on a terminal ends each command that waits for a cluster: with 130, without a traceback."""

from __future__ import annotations

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


@pytest.mark.parametrize(("words", "output"), [("logs -f web", "begun"), ("watch pods -o jsonl", '"ADDED"')])
def test_ctrl_c_ends_what_waits(busy: CommandLine, words: str, output: str) -> None:
    with busy.terminal(*words.split(), columns=200) as terminal:
        terminal.wait_for(lambda screen: output in terminal.output)
        terminal.send("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output
