"""Other clients work against a served simulator: programs on the official client, kr8s, lightkube, kopf,
client-go and kube-rs. Each program checks the features that it needs.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import kubeproto_sim as sim
from benchmarks._peer_programs import command
from benchmarks._pins import PROJECT
from kubeproto_serve import serving

pytestmark = [pytest.mark.one_python, pytest.mark.thorough("a process of another client for each")]

CHECKS = {
    "kubernetes": {"versions", "verbs", "watch", "workloads", "dynamic", "election", "pods"},
    "kr8s": {"versions", "verbs", "missing", "watch", "workloads", "custom"},
    "lightkube": {"verbs", "apply", "collection", "watch", "workloads", "custom"},
    "kopf": {"operator"},
    "client_go": {
        "discovery", "verbs", "protobuf", "pages", "informer", "controller", "election", "retry-watcher",
        "metadata", "events", "scale",
    },
    "kube_rs": {
        "discovery", "verbs", "reflector", "reflector-streaming", "reflector-pages", "metadata", "definition",
        "refused", "controller", "finalizer", "events", "scale",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "peer", [pytest.param(name, marks=pytest.mark.needs(f"peer:{name}")) for name in CHECKS]
)
def test_another_client_gets_the_expected_responses(peer: str, tmp_path: Path) -> None:
    program = command(peer)
    assert program is not None
    config = tmp_path / "config"
    with serving(sim.Cluster(populated=True)) as server:
        config.write_text(server.kubeconfig)
        completed = subprocess.run(
            program, cwd=PROJECT, env={**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(config)},
            stdout=subprocess.PIPE, text=True, timeout=300, check=False,
        )  # fmt: skip
    errors = {line["check"]: line["error"] for line in map(json.loads, completed.stdout.splitlines())}
    assert errors == dict.fromkeys(CHECKS[peer], "")
