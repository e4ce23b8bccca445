"""Ctrl-C on a terminal ends a command that waits for a cluster with status 130 and without a traceback."""

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
def cli_with_pod(cli: CommandLine) -> CommandLine:
    """A cluster whose node runs a pod that writes a line and never ends; a finalizer keeps it."""

    def fill() -> None:
        program = sim.Program(log="started\n")
        cli.cluster.nodes(1, ready_after=0, ends_after=0, programs={"app": program})
        cli.cluster.settle()
        [node] = cli.cluster.objects("v1/Node")
        pod_manifest = pod("web", "app")
        pod_manifest["spec"]["nodeName"] = node["metadata"]["name"]
        cli.cluster.put(pod_manifest)
        cli.cluster.settle()

    cli.server.call(fill)
    return cli


@pytest.mark.parametrize(
    ("arguments", "output"), [("logs -f web", "started"), ("watch pods -o jsonl", '"ADDED"')]
)
def test_ctrl_c_ends_a_waiting_command(cli_with_pod: CommandLine, arguments: str, output: str) -> None:
    with cli_with_pod.terminal(*arguments.split(), columns=200) as terminal:
        terminal.wait_for(lambda screen: output in terminal.output)
        terminal.send("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output
