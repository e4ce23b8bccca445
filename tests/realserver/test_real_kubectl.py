"""kubectl against the real control plane prints what the transcript says, which the simulator is held to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kubectl_commands.running import kubectl, run, transcript

from ._real_server import RealServer


@pytest.mark.needs("kubectl")
def test_kubectl_prints_the_transcript(start_real_server: Callable[..., RealServer], tmp_path: Path) -> None:
    program = kubectl()
    assert program is not None, "kubectl is here, but not the version that the transcript was made with"
    real = start_real_server()  # one without the kinds of other tests
    steps = list(run(program, real.kubeconfig, tmp_path, "admin"))
    wrong = [(wanted, found) for wanted, found in zip(transcript(), steps, strict=True) if wanted != found]
    assert wrong == []
