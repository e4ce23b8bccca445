"""kubectl rolls out, scales and waits on the served simulator, whose controllers and node do the work."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from kubectl_commands.running import find_kubectl

import kubeproto_sim as sim
from kubeproto_serve import serving

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

Kubectl: TypeAlias = Callable[[str], "subprocess.CompletedProcess[str]"]
ROLLED_OUT: Final = 'deployment "web" successfully rolled out'
STATUS: Final = ("rollout status deployment/web --timeout=60s", ROLLED_OUT)
HISTORY: Final = "rollout history deployment/web"


def revisions(*numbers: int) -> str:
    """Return the printed history without the width of its spaces."""
    lines = "".join(f"{number} <none>\n" for number in numbers)
    return f"deployment.apps/web\nREVISION CHANGE-CAUSE\n{lines}".strip()


# Each command, and the end of its output: the earlier steps of a rollout depend on timing.
STEPS: Final = (
    ("create deployment web --image=web:1 --replicas=2", "deployment.apps/web created"),
    STATUS,
    ("set image deployment/web web=web:2", "deployment.apps/web image updated"),
    STATUS,
    (HISTORY, revisions(1, 2)),
    ("rollout undo deployment/web", "deployment.apps/web rolled back"),
    STATUS,
    (HISTORY, revisions(2, 3)),
    ("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", "web:1"),
    ("rollout pause deployment/web", "deployment.apps/web paused"),
    ("set image deployment/web web=web:3", "deployment.apps/web image updated"),
    (HISTORY, revisions(2, 3)),
    ("rollout resume deployment/web", "deployment.apps/web resumed"),
    STATUS,
    (HISTORY, revisions(2, 3, 4)),
    ("rollout restart deployment/web", "deployment.apps/web restarted"),
    STATUS,
    ("rollout undo deployment/web --to-revision=2", "deployment.apps/web rolled back"),
    STATUS,
    (HISTORY, revisions(3, 4, 5, 6)),
    ("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", "web:2"),
    ("wait deployment/web --for=condition=Available --timeout=60s", "deployment.apps/web condition met"),
    ("scale deployment/web --replicas=4", "deployment.apps/web scaled"),
    ("wait deployment/web --for=jsonpath={.status.readyReplicas}=4 --timeout=60s",
     "deployment.apps/web condition met"),
    ("autoscale deployment/web --min=1 --max=5", "horizontalpodautoscaler.autoscaling/web autoscaled"),
    ("get deployment web -o jsonpath={.status.availableReplicas}/{.status.replicas}", "4/4"),
    ("rollout history deployment/none", 'Error from server (NotFound): deployments.apps "none" not found'),
)  # fmt: skip


@pytest.fixture(scope="module")
def call() -> Iterator[Kubectl]:
    program = find_kubectl()
    assert program is not None, "kubectl is installed, but in a version other than that of the transcripts"
    cluster = sim.Cluster(populated=True, controllers=True)
    with tempfile.TemporaryDirectory() as folder, serving(cluster) as server:
        server.call(lambda: cluster.nodes(1, ready_after=0.1))
        config = Path(folder) / "config"
        config.write_text(server.kubeconfig)
        environment = {**os.environ, "HOME": folder, "KUBECONFIG": str(config)}

        def run(command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [program, *command.split()], env=environment, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
            )  # fmt: skip

        yield run


def test_every_form_of_rollout_works(call: Kubectl) -> None:
    for command, expected in STEPS:
        completed = call(command)
        printed = re.sub(r" *\n", "\n", re.sub(r"[ \t]+", " ", completed.stdout)).strip()
        assert printed.endswith(expected), f"kubectl {command}: {completed.stdout}"
        assert completed.returncode == ("NotFound" in expected)
