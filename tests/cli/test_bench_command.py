"""`kubeproto bench`: the benchmarks of the checkout that it is called in, or where there are some."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest
from command_processes import PROGRAM
from terminals import Terminal

pytestmark = pytest.mark.one_python

ALIKE: Final = "each imports all benchmarks anew"
ROOT: Final = Path(__file__).resolve().parents[2]


def bench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "bench", *words], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "folder", [pytest.param(ROOT, marks=pytest.mark.thorough(ALIKE)), ROOT / "docs" / "guides"]
)
def test_in_a_checkout_it_lists_what_can_be_measured(folder: Path) -> None:
    done = bench(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "decode.pods.metadata" in done.stdout


def test_arguments_and_exit_statuses_are_those_of_the_benchmarks() -> None:
    done = bench(ROOT, "nothing.of.this.name", "--quick")
    assert done.returncode == 2
    assert "no such benchmark: nothing.of.this.name" in done.stderr


def test_elsewhere_it_says_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__main__.py").write_text("raise SystemExit(3)")  # those of another project
    done = bench(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kubeproto bench: the benchmarks are in the repository")
    assert done.stderr.count("\n") == 1


@pytest.mark.thorough(ALIKE)
def test_on_a_terminal_it_lists_the_same() -> None:
    with Terminal([*PROGRAM, "bench"], rows=200, columns=200, environment=os.environ) as terminal:
        assert terminal.wait() == 0
        assert "decode.pods.metadata" in terminal.screen.text
