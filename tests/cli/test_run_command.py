"""`kubeproto run` as a process: a simulated cluster, a restart after a change, and draining."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from command_processes import PROGRAM, CommandLine, call_in
from terminals import Terminal

from kubeproto.kinds.core_v1 import ConfigMap, Node
from kubeproto_cli._supervising import changed_files, file_times
from kubeproto_runtime import connect_blocking

pytestmark = pytest.mark.one_python

OPERATOR: Final = """
import kubeproto as kp
from kubeproto.kinds.core_v1 import ConfigMap, Node
from kubeproto_runtime import Controller, Operator

class NoteSpec(kp.Fields):
    text: str = ""

class Note(kp.Object[NoteSpec, None], group="run.example.com", version="v1", plural="notes"):
    pass

async def reconcile(note, ctx):
    config_map = ConfigMap(metadata=kp.ObjectMeta(name=ctx.name), data={"text": "FIRST"})
    await ctx.api(ConfigMap).apply(config_map, field_manager="run", force=True)

def operator(client):
    operator = Operator()
    operator.add(controller(client))
    return operator

def controller(client):
    return Controller(client, Note).run(reconcile)

def nothing(client):
    return None
"""
NOTE: Final = '{"apiVersion": "run.example.com/v1", "kind": "Note", "metadata": {"name": "a"}, "spec": {}}'
SYNCED: Final = "the cache of notes.run.example.com/v1 synced"


class RunProcess:
    """A `kubeproto run` whose standard error is read line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def read_until(self, arguments: str) -> str:
        assert self.process.stderr is not None
        lines: list[str] = []
        while not lines or arguments not in lines[-1]:
            lines.append(self.process.stderr.readline())
            assert lines[-1], f"{arguments!r} was not printed:\n{''.join(lines)}"
        return "".join(lines)

    def kubeconfig(self) -> str:
        match = re.search(
            r"export KUBECONFIG=(\S+)", self.read_until("# a simulated cluster at http://127.0.0.1:")
        )
        assert match
        return match[1]

    def end(self, number: int = signal.SIGTERM) -> str:
        """Send a signal, and return standard error, which all processes must close."""
        self.process.send_signal(number)
        _, output_text = self.process.communicate(timeout=60)
        return output_text


@contextmanager
def run_process(folder: Path, *arguments: str) -> Generator[RunProcess]:
    command = [*PROGRAM, "run", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield RunProcess(process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    path = folder / "notes.py"
    path.write_text(OPERATOR)
    return path


def wait_for_text(kubeconfig: str, text: str) -> None:
    with connect_blocking(kubeconfig=kubeconfig) as client:
        client.api(ConfigMap).wait_for(
            "a", lambda config_map: (config_map.data or {}).get("text") == text, timeout=60
        )


def test_a_change_restarts_the_operator_against_the_same_cluster(program: Path) -> None:
    with run_process(program.parent, "notes.py:operator", "--simulated", "--nodes", "2") as run:
        kubeconfig = run.kubeconfig()
        run.read_until(SYNCED)
        with connect_blocking(kubeconfig=kubeconfig) as client:
            assert [node.metadata.name for node in client.api(Node).list()] == ["node-1", "node-2"]
            client.apply_manifests(NOTE, field_manager="test")
        wait_for_text(kubeconfig, "FIRST")
        program.write_text(OPERATOR.replace("FIRST", "SECOND"))
        run.read_until("# notes.py changed: restarting")
        run.read_until("drained: every run has ended")
        wait_for_text(kubeconfig, "SECOND")
        assert "drained: every run has ended" in run.end()
        assert run.process.returncode == 0
    assert not Path(kubeconfig).exists()


def test_a_syntax_error_is_printed_and_its_correction_starts_the_operator(program: Path) -> None:
    program.write_text("def operator(client:\n")
    with run_process(program.parent, "notes.py:operator", "--simulated") as run:
        kubeconfig = run.kubeconfig()
        output_text = run.read_until("# it ended with status 1; it is restarted when a file changes")
        assert "SyntaxError" in output_text
        program.write_text(OPERATOR)
        run.read_until(SYNCED)
        assert Path(kubeconfig).exists()


def test_no_reload_runs_the_operator_once_against_the_current_context(
    cli: CommandLine, program: Path
) -> None:
    arguments = ("run", f"{program}:controller", "--define", "--no-reload")
    with cli.start(*arguments) as process:
        run = RunProcess(process)
        run.read_until(SYNCED)
        with connect_blocking(kubeconfig=cli.kubeconfig) as client:
            client.apply_manifests(NOTE, field_manager="test")
        wait_for_text(str(cli.kubeconfig), "FIRST")
        assert "drained: every run has ended" in run.end()
    assert process.returncode == 0


def test_the_operator_ends_when_the_supervising_process_is_killed(cli: CommandLine, program: Path) -> None:
    with cli.start("run", f"{program}:operator", "--define") as process:
        run = RunProcess(process)
        run.read_until(SYNCED)
        # Standard error ends when the last process has closed it.
        assert "drained: every run has ended" in run.end(signal.SIGKILL)


def test_ctrl_c_on_a_terminal_drains_the_operator(program: Path) -> None:
    command = [*PROGRAM, "run", f"{program}:operator", "--simulated"]
    with Terminal(command, rows=60, columns=160) as terminal:
        terminal.wait_for(lambda screen: SYNCED in screen.text)
        terminal.send("\x03")
        assert terminal.wait() == 0
        assert "drained: every run has ended" in terminal.output
        assert "Traceback" not in terminal.output


def test_a_second_signal_ends_a_stuck_operator(program: Path) -> None:
    stuck_program = OPERATOR.replace(
        "    config_map = ConfigMap(",
        "    print('stuck', flush=True)\n    import time; time.sleep(600)\n    config_map = ConfigMap(",
    )
    program.write_text(stuck_program)
    with run_process(program.parent, "notes.py:operator", "--simulated") as run:
        kubeconfig = run.kubeconfig()
        run.read_until(SYNCED)
        with connect_blocking(kubeconfig=kubeconfig) as client:
            client.apply_manifests(NOTE, field_manager="test")
        assert run.process.stdout is not None
        assert run.process.stdout.readline() == "stuck\n"
        # Another signal than the first: the kernel merges two pending signals with the same number.
        run.process.send_signal(signal.SIGTERM)
        run.end(signal.SIGINT)
        assert run.process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["notes.py:operator", "--load", "x"],
            2,
            "--load, --port and --nodes are for a simulated cluster: add --simulated",
        ),
        (["notes.py:nothing", "--no-reload"], 1, "OPERATOR returned None: it must return an operator"),
        (["notes.py:NOTE", "--no-reload"], 2, "notes has no NOTE"),
    ],
)
def test_an_error_is_a_single_line(
    arguments: list[str], status: int, message: str, cli: CommandLine, program: Path
) -> None:
    result = call_in(program.parent, "run", *arguments, KUBECONFIG=str(cli.kubeconfig))
    assert (result.returncode, result.stdout) == (status, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_files_in_virtual_environments_and_hidden_folders_are_ignored(tmp_path: Path) -> None:
    for name in ("a.py", "package/b.py", "venv/lib/c.py", ".git/d.py", "__pycache__/e.py", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    previous_times = file_times(tmp_path)
    assert {Path(path).relative_to(tmp_path).as_posix() for path in previous_times} == {
        "a.py",
        "package/b.py",
    }
    (tmp_path / "a.py").unlink()
    (tmp_path / "package" / "b.py").write_text("22")
    (tmp_path / "c.py").write_text("3")
    match = [Path(path).name for path in changed_files(previous_times, file_times(tmp_path))]
    assert sorted(match) == ["a.py", "b.py", "c.py"]
    assert changed_files(previous_times, previous_times) == []
