"""kubectl against the simulator on a port: each command prints what it prints against a real server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from kubectl_commands.running import Step, kubectl, run, transcript

from kubeproto import sim
from kubeproto_serve._fixtures import serving

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

# What differs, and why. A command that has become the same has to leave this list.
DIFFERENT: Final = {
    'patch pod alone -p {"spec":{"nodeSelector":{"a":"b"}}}': "a diff of an internal Go type",
}


@pytest.fixture(scope="module")
def steps() -> Iterator[dict[int, Step]]:
    program = kubectl()
    assert program is not None, "kubectl is here, but not the version that the transcript was made with"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with serving(sim.Cluster(populated=True)) as server:
            (home / "config").write_text(server.kubeconfig)
            yield dict(enumerate(run(program, home / "config", home)))


STEPS: Final = transcript()


@pytest.mark.parametrize("at", range(len(STEPS)), ids=[f"{at}-{one.command}" for at, one in enumerate(STEPS)])
def test_kubectl_prints_what_it_prints_of_a_real_server(steps: dict[int, Step], at: int) -> None:
    if STEPS[at].command in DIFFERENT:
        assert steps[at] != STEPS[at], "this command is the same now: take it off the list"
    else:
        assert steps[at] == STEPS[at]


def test_there_are_many_commands() -> None:
    assert len(STEPS) - len(DIFFERENT) >= 120
