"""kubectl prints the transcript against the real control plane, which the simulator must match."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kubectl_commands.running import find_kubectl, read_sections, read_transcript, run_commands

from ._real_server import RealServer


@pytest.mark.kubernetes("1.36")
@pytest.mark.needs("kubectl")
def test_kubectl_prints_the_transcript(start_real_server: Callable[..., RealServer], tmp_path: Path) -> None:
    program = find_kubectl()
    assert program is not None, "kubectl is here, but not the version that the transcript was made with"
    commands = [command for section in read_sections().values() for command in section]
    expected = [step for section in read_transcript().values() for step in section]
    with start_real_server() as real:  # a server without the kinds of other tests
        steps = list(run_commands(program, real.kubeconfig, tmp_path, commands, "admin", expected=expected))
    assert [(right, actual) for right, actual in zip(expected, steps, strict=True) if right != actual] == []
