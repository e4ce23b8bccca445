"""The node informer as a process, on the served simulator and on a real server; kubectl changes the nodes."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest
from program_rig import Site

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

PROGRAM = "nodes/nodes.py"
NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {role: %s, zone: a}}
"""
EVENT = """
apiVersion: v1
kind: Event
metadata: {name: %s, namespace: default}
involvedObject: {apiVersion: v1, kind: Node, name: %s, uid: u-1}
reason: %s
message: %s
type: Warning
source: {component: kubelet}
"""


@pytest.fixture
def nodes(cluster: Site) -> Generator[Site]:
    yield cluster
    cluster.kubectl("delete nodes worker-1 worker-2 other --ignore-not-found")
    cluster.kubectl("delete events -n default broken other --ignore-not-found")


def condition(of_type: str, status: str, reason: str, message: str) -> str:
    fields = {"type": of_type, "status": status, "reason": reason, "message": message}
    return json.dumps({"status": {"conditions": [fields]}}).replace(" ", "~")


def test_changes_of_workers_are_printed(nodes: Site) -> None:
    patch = "patch node/worker-1 --subresource=status --type=strategic -p "
    nodes.kubectl("apply -f -", NODE % ("worker-1", "worker"))
    with nodes.running(PROGRAM) as program:
        program.until("^worker-1: new$")
        program.until("^these are all: 1 nodes$")
        nodes.kubectl(patch + condition("Ready", "True", "KubeletReady", "it is posting"))
        program.until("^worker-1: ready$")
        nodes.kubectl("create -f -", EVENT % ("broken", "worker-1", "DiskFailed", "the disk does not turn"))
        nodes.kubectl("create -f -", EVENT % ("other", "other", "Unrelated", "about another node"))
        nodes.kubectl(patch + condition("DiskPressure", "True", "DiskFull", "no space"))
        program.until(r"^worker-1: .*DiskPressure is True \(DiskFull: no space\)$")
        program.until("^  Warning DiskFailed: the disk does not turn$")
        nodes.kubectl("cordon worker-1")
        program.until("^worker-1: unschedulable; .*DiskPressure is True")
        nodes.kubectl("apply -f -", NODE % ("other", "control"))
        nodes.kubectl("apply -f -", NODE % ("worker-2", "worker"))
        program.until("^worker-2: new$")
        nodes.kubectl("delete node/worker-1 --wait=false")
        program.until("^worker-1: gone, with labels role=worker,zone=a$")
        nodes.kubectl("label node/worker-2 role=retired --overwrite")
        program.until("^worker-2: gone, with labels ")
        assert "other:" not in program.printed
        assert "Unrelated" not in program.printed
