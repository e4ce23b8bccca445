"""A reader that goes away ends a command with 141 and without a word, as a signal would: ``| head``.

Some are run as processes, where Python flushes once more at the end; the others in this process, which is
quicker. Those that print on and on have tests of their own beside their other ones.
"""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

import pytest
from command_processes import PROGRAM, CommandLine

import kubeproto_sim as sim
from kubeproto_cli import main
from kubeproto_cli._main import COMMANDS
from kubeproto_serve import serving

pytestmark = pytest.mark.one_python

ROOT: Final = Path(__file__).resolve().parents[2]
CONFIG_MAP: Final = (
    '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s", "namespace": "default"},'
    ' "data": {"a": "b"}}'
)
POD: Final = (
    '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"},'
    ' "spec": {"containers": [{"name": "web", "image": "web"}]}}'
)
KINDS: Final = """
import kubeproto as kp
from kubeproto_runtime import Controller, Operator, await_change

class Spec(kp.Fields):
    text: str = ""

class Note(kp.Object[Spec, None], group="e.example.com", version="v1", plural="notes"):
    pass

async def reconcile(ctx, key):
    return await_change()

def operator(client):
    return Operator(), [Controller(client, Note).run(reconcile)]
"""
PROCESSES: Final = (
    "new thing",
    "record configmaps --for 0.2s",
    "replay watch.jsonl --port 0",
    "serve --port 0 --empty",
)
CALLS: Final = (
    "apply -f a.yaml",
    "completion bash",
    "crd kinds.py:Note",
    "diff -f b.yaml",
    "doctor",
    "generate -f crd.yaml",
    "logs web",
    "watch configmaps",
    "watch configmaps -o jsonl",
)
# What they print is for people, and goes to standard error: files are their result, or nothing is.
WITHOUT_RESULT: Final = {"run"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Generator[CommandLine]:
    """A cluster with something to print, and the files that the commands name."""
    cluster = sim.Cluster()
    with serving(cluster) as server:
        cli = CommandLine(server, tmp_path_factory.mktemp("pipes"))

        def fill() -> None:
            program = sim.Program(log="begun\n", files={"/text": "text\n"})
            cluster.nodes(1, ready_after=0, ends_after=0, programs={"web": program})
            cluster.put((CONFIG_MAP % "there").encode())
            cluster.put(POD.encode())
            cluster.settle()

        server.call(fill)
        for name in ("a", "b"):
            (cli.folder / f"{name}.yaml").write_text(CONFIG_MAP % name)
        (cli.folder / "kinds.py").write_text(KINDS)
        (cli.folder / "crd.yaml").write_text(cli.call("crd", "kinds.py:Note").stdout)
        assert cli.call("record", "configmaps", "--for", "0.2s", "-o", "watch.jsonl").returncode == 0
        yield cli


def test_every_command_that_prints_is_here() -> None:
    named = {line.partition(" ")[0] for line in (*PROCESSES, *CALLS)}
    assert named | WITHOUT_RESULT | {"bench", "manifests"} == set(COMMANDS)


@pytest.mark.parametrize("command", PROCESSES)
def test_a_closed_pipe_ends_a_process_that_prints(filled: CommandLine, command: str) -> None:
    with closed_pipe() as writing:
        done = subprocess.run(
            [*PROGRAM, *command.split()], stdout=writing, stderr=subprocess.PIPE, check=False,
            cwd=filled.folder, env=filled.environment, timeout=120,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("command", CALLS)
def test_a_closed_pipe_ends_what_prints(
    filled: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name, value in filled.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(filled.folder)
    assert called(*command.split()) == (141, "")


def test_a_closed_pipe_ends_the_command_that_prints_manifests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert main(["new", "thing"]) == 0
    monkeypatch.chdir(tmp_path / "thing")
    assert called("manifests", "thing.py:deployed", "--name", "thing", "--access", "access.json") == (141, "")


def test_a_closed_pipe_ends_the_benchmarks() -> None:
    with closed_pipe() as writing:
        done = subprocess.run(
            [*PROGRAM, "bench"], stdout=writing, stderr=subprocess.PIPE, check=False, cwd=ROOT, timeout=120
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_run_ends_without_an_operator_where_nobody_reads_what_it_prints(filled: CommandLine) -> None:
    with closed_pipe() as writing:
        done = subprocess.run(
            [*PROGRAM, "run", "kinds.py:operator", "--simulated"], stdout=subprocess.PIPE, stderr=writing,
            check=False, cwd=filled.folder, env=filled.environment, timeout=120,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (141, b"")


@contextmanager
def closed_pipe() -> Generator[int]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


def called(*words: str) -> tuple[int, str]:
    """Run a command in this process; return its exit status, and what it wrote to standard error."""
    with (
        closed_pipe() as writing,
        os.fdopen(writing, "w", closefd=False) as out,
        redirect_stdout(out),
        redirect_stderr(io.StringIO()) as err,
    ):
        status = main(words)
    return status, err.getvalue()
