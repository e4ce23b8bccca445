"""The suite against simulated servers of older releases, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.mark.one_python
@pytest.mark.thorough(
    "each runs the whole suite, and the real servers of these releases run it in `make real`"
)
@pytest.mark.parametrize("release", ["1.30", "1.33"])
def test_a_simulated_server_of_an_older_release_passes_the_suite(release: str) -> None:
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--ignore", __file__, str(HERE)]
    completed = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "KUBERNETES": release}, cwd=HERE.parent.parent,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stdout[-4000:]
