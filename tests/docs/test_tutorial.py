"""The tutorial, step by step: the served simulator, the operator and kubectl are separate processes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kubectl_commands.running import find_kubectl
from pages_shown import ROOT, snippets

PAGE = ROOT / "docs/start/tutorial.md"
CONSOLE = next(snippet.text for snippet in snippets(PAGE) if snippet.language == "console")
SERVE = next(snippet.text for snippet in snippets(PAGE) if snippet.text.startswith("kubeproto serve"))
TIME_LIMIT = 120  # seconds

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]


@contextmanager
def process(folder: Path, *command: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    """Run a process during the block."""
    variables = {**os.environ, **environment}
    with (
        (folder / f"{Path(command[-1]).name}.log").open("w") as log,
        subprocess.Popen(
            command, cwd=folder, env=variables, text=True, stdout=subprocess.PIPE, stderr=log
        ) as running,
    ):
        try:
            yield running
        finally:
            running.kill()


def commands() -> list[tuple[list[str], str]]:
    """Return each command of the console with its output."""
    steps: list[tuple[list[str], str]] = []
    for line in CONSOLE.splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append((shlex.split(line[2:]), ""))
        else:
            words, printed = steps.pop()
            steps.append((words, printed + line))
    return steps


def test_each_command_of_the_tutorial_prints_the_output_of_the_page(tmp_path: Path) -> None:
    program = find_kubectl()
    assert program is not None, "kubectl is here, but not in the version that the tests need"
    for snippet in snippets(PAGE):
        if snippet.file:
            (tmp_path / snippet.file).write_text(snippet.text)
    definition = subprocess.run(
        [sys.executable, "kind.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    (tmp_path / "crd.yaml").write_text(definition.stdout)
    environment = {"KUBECONFIG": str(tmp_path / "config"), "HOME": str(tmp_path)}
    serve = ("-m", "kubeproto_cli", *shlex.split(SERVE)[1:], "--port", "0")
    with process(tmp_path, sys.executable, *serve) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("# serving at ")
        with process(tmp_path, sys.executable, "hello.py", **environment):
            for words, printed in commands():
                if words[0] == "kubectl":
                    assert (words, run_command(program, words[1:], tmp_path, environment)) == (words, printed)


def run_command(program: str, words: list[str], folder: Path, environment: dict[str, str]) -> str:
    completed = subprocess.run(
        [program, *words], cwd=folder, env={**os.environ, **environment}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIME_LIMIT,
    )  # fmt: skip
    # The output of jsonpath has no final newline.
    return completed.stdout if completed.stdout.endswith("\n") else f"{completed.stdout}\n"
