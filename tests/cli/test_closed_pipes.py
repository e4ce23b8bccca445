"""A closed pipe (``| head``) ends a command silently with status 141, like SIGPIPE.

Some commands run as processes, where Python flushes again at exit; the others run in this process, which is
faster. The modules of commands that print without end test this behavior themselves.
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
# Commands that write to standard error only.
WITHOUT_STDOUT: Final = {"run"}


@pytest.fixture(scope="module")
def cli_with_objects(tmp_path_factory: pytest.TempPathFactory) -> Generator[CommandLine]:
    """A cluster with objects and a log, and the files that the commands need."""
    cluster = sim.Cluster()
    with serving(cluster) as server:
        cli = CommandLine(server, tmp_path_factory.mktemp("pipes"))

        def fill() -> None:
            program = sim.Program(log="started\n", files={"/text": "text\n"})
            cluster.nodes(1, ready_after=0, ends_after=0, programs={"web": program})
            cluster.put((CONFIG_MAP % "existing").encode())
            cluster.put(POD.encode())
            cluster.settle()

        server.call(fill)
        for name in ("a", "b"):
            (cli.folder / f"{name}.yaml").write_text(CONFIG_MAP % name)
        (cli.folder / "kinds.py").write_text(KINDS)
        (cli.folder / "crd.yaml").write_text(cli.call("crd", "kinds.py:Note").stdout)
        assert cli.call("record", "configmaps", "--for", "0.2s", "-o", "watch.jsonl").returncode == 0
        yield cli


def test_every_command_with_output_is_tested() -> None:
    tested_commands = {line.partition(" ")[0] for line in (*PROCESSES, *CALLS)}
    assert tested_commands | WITHOUT_STDOUT | {"bench", "manifests"} == set(COMMANDS)


@pytest.mark.parametrize("command", PROCESSES)
def test_a_closed_pipe_ends_a_process_that_prints(cli_with_objects: CommandLine, command: str) -> None:
    with closed_pipe() as write_end:
        result = subprocess.run(
            [*PROGRAM, *command.split()], stdout=write_end, stderr=subprocess.PIPE, check=False,
            cwd=cli_with_objects.folder, env=cli_with_objects.environment, timeout=120,
        )  # fmt: skip
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.parametrize("command", CALLS)
def test_a_closed_pipe_ends_a_command_that_prints(
    cli_with_objects: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name, value in cli_with_objects.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(cli_with_objects.folder)
    assert run_with_closed_stdout(*command.split()) == (141, "")


def test_a_closed_pipe_ends_the_command_that_prints_manifests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert main(["new", "thing"]) == 0
    monkeypatch.chdir(tmp_path / "thing")
    assert run_with_closed_stdout(
        "manifests", "thing.py:deployed", "--name", "thing", "--access", "access.json"
    ) == (141, "")


def test_a_closed_pipe_ends_the_benchmarks() -> None:
    with closed_pipe() as write_end:
        result = subprocess.run(
            [*PROGRAM, "bench"], stdout=write_end, stderr=subprocess.PIPE, check=False, cwd=ROOT, timeout=120
        )
    assert (result.returncode, result.stderr) == (141, b"")


def test_run_exits_without_an_operator_when_standard_error_is_closed(cli_with_objects: CommandLine) -> None:
    with closed_pipe() as write_end:
        result = subprocess.run(
            [*PROGRAM, "run", "kinds.py:operator", "--simulated"], stdout=subprocess.PIPE, stderr=write_end,
            check=False, cwd=cli_with_objects.folder, env=cli_with_objects.environment, timeout=120,
        )  # fmt: skip
    assert (result.returncode, result.stdout) == (141, b"")


@contextmanager
def closed_pipe() -> Generator[int]:
    """Return the write end of a pipe whose read end is closed."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        yield write_end
    finally:
        os.close(write_end)


def run_with_closed_stdout(*arguments: str) -> tuple[int, str]:
    """Run a command in this process; return its exit status and its output to standard error."""
    with (
        closed_pipe() as write_end,
        os.fdopen(write_end, "w", closefd=False) as out,
        redirect_stdout(out),
        redirect_stderr(io.StringIO()) as err,
    ):
        status = main(arguments)
    return status, err.getvalue()
