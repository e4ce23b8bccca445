"""`kubeproto bench` runs the benchmarks of the checkout that contains the current folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest
from command_processes import PROGRAM
from terminals import Terminal

pytestmark = pytest.mark.one_python

SLOW_REASON: Final = "each run imports all benchmarks"
ROOT: Final = Path(__file__).resolve().parents[2]


def run_bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "bench", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "folder", [pytest.param(ROOT, marks=pytest.mark.thorough(SLOW_REASON)), ROOT / "docs" / "guides"]
)
def test_bench_lists_the_benchmarks_of_a_checkout(folder: Path) -> None:
    result = run_bench(folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert "decode.pods.metadata" in result.stdout


def test_bench_passes_arguments_and_exit_statuses_on() -> None:
    result = run_bench(ROOT, "nothing.of.this.name", "--quick")
    assert result.returncode == 2
    assert "no such benchmark: nothing.of.this.name" in result.stderr


def test_bench_outside_of_a_checkout_names_the_repository(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__main__.py").write_text(
        "raise SystemExit(3)"
    )  # another project's benchmarks
    result = run_bench(tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("kubeproto bench: the benchmarks are in the repository")
    assert result.stderr.count("\n") == 1


@pytest.mark.thorough(SLOW_REASON)
def test_bench_lists_the_benchmarks_on_a_terminal() -> None:
    with Terminal([*PROGRAM, "bench"], rows=200, columns=200, environment=os.environ) as terminal:
        assert terminal.wait() == 0
        assert "decode.pods.metadata" in terminal.screen.text
