"""kubectl against the simulator on a port: each command prints the same as against a real server.

Each section of the commands has its own server, so that sections run concurrently if tests do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from kubectl_commands.running import find_kubectl, read_sections, read_transcript, run_commands

import kubeproto_sim as sim
from kubeproto_serve import self_signed, serving

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

# The known differences, with reasons. A command whose output has become the same must leave this list.
DIFFERENT: Final = {
    'patch pod alone -p {"spec":{"nodeSelector":{"a":"b"}}}': "a diff of an internal Go type",
}
# The real server enforces roles in all sections, and its administrator has all permissions.
WITH_ROLES: Final = {"authorization"}


# Further commands of the same kinds: each costs kubectl one to three seconds of CPU.
LONG: Final = {
    "apply",
    "authorization",
    "config maps and secrets",
    "custom resources",
    "pods, without anybody who runs them",
    "workloads",
}


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=[pytest.mark.thorough("dozens of kubectl's processes")] * (title in LONG))
        for title in read_sections()
    ],
)
def test_kubectl_prints_the_same_as_against_a_real_server(title: str, tmp_path: Path) -> None:
    program = find_kubectl()
    assert program is not None, "kubectl is installed, but in a version other than that of the transcript"
    with_roles = title in WITH_ROLES
    cluster = sim.Cluster(populated=True, authorization="RBAC" if with_roles else "AlwaysAllow")
    # kubectl sends credentials only over TLS.
    security = self_signed("127.0.0.1", tokens={"secret": "admin"}) if with_roles else None
    with serving(cluster, security=security) as server:
        (tmp_path / "config").write_text(server.kubeconfig)
        steps = list(run_commands(program, tmp_path / "config", tmp_path, read_sections()[title]))
    recorded_steps = read_transcript()[title]
    assert len(recorded_steps) == len(steps)
    for step, recorded in zip(steps, recorded_steps, strict=True):
        if recorded.command in DIFFERENT:
            assert step != recorded, "this command prints the same now: remove it from the list"
        else:
            assert step == recorded


def test_there_are_many_commands() -> None:
    assert sum(map(len, read_transcript().values())) - len(DIFFERENT) >= 120
