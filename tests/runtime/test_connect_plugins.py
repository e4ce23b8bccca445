"""Running an exec plugin: its input, its output, its time limit, and the end of its processes."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from credential_rig import SECRET

from kubeproto.config import credentials as c
from kubeproto_runtime.credentials._plugins import has_terminal, run_plugin, run_plugin_blocking

Runner = Callable[[c.RunPlugin], c.Event]


@pytest.fixture(params=["asyncio", "trio", "thread", "thread inside a loop"])
def perform(request: pytest.FixtureRequest) -> Runner:
    """Run a plugin on each event loop, and in a thread with and without an event loop."""
    if request.param == "thread":
        return run_plugin_blocking

    async def run_in_loop(task: c.RunPlugin) -> c.Event:
        return run_plugin_blocking(task)

    main: Callable[[c.RunPlugin], Awaitable[c.Event]] = run_plugin
    loop = str(request.param)
    if request.param == "thread inside a loop":
        main, loop = run_in_loop, "asyncio"
    return lambda task: anyio.run(main, task, backend=loop)


def script(folder: Path, *lines: str) -> str:
    path = folder / "login"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(stat.S_IRWXU)
    return str(path)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie has exited


def test_output_and_exit_code_are_returned(tmp_path: Path, perform: Runner) -> None:
    task = c.RunPlugin(command=script(tmp_path, "echo credentials; exit 0"))
    assert perform(task) == c.PluginExited(0, b"credentials\n")
    task = c.RunPlugin(command=script(tmp_path, "echo half; exit 7"))
    assert perform(task) == c.PluginExited(7, b"half\n")


def test_a_plugin_gets_its_arguments_and_variables_and_no_input(
    tmp_path: Path, perform: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARENT", "here")
    command = script(tmp_path, 'read line; echo "$1 $PARENT $KUBERNETES_EXEC_INFO [$line]"')
    task = c.RunPlugin(command=command, args=("get-token",), env=(("KUBERNETES_EXEC_INFO", "{}"),))
    assert perform(task) == c.PluginExited(0, b"get-token here {} []\n")


def test_an_interactive_plugin_has_the_input_and_the_session_of_the_program(
    tmp_path: Path, perform: Runner
) -> None:
    file = tmp_path / "input"
    file.write_text("yes\n")
    command = script(tmp_path, "read line; echo \"$line $(ps -o sid= -p $$ | tr -d ' ')\"")
    saved = os.dup(0)
    try:
        with file.open() as stdin:
            os.dup2(stdin.fileno(), 0)
        assert perform(c.RunPlugin(command=command, interactive=True)) == c.PluginExited(
            0, f"yes {os.getsid(0)}\n".encode()
        )
    finally:
        os.dup2(saved, 0)
        os.close(saved)


def test_stderr_of_a_plugin_is_not_captured(
    tmp_path: Path, perform: Runner, capfd: pytest.CaptureFixture[str]
) -> None:
    event = perform(c.RunPlugin(command=script(tmp_path, f"echo {SECRET} >&2; exit 1")))
    assert event == c.PluginExited(1, b"")
    assert capfd.readouterr().err == f"{SECRET}\n"


def test_a_plugin_that_hangs_is_killed_with_its_children(tmp_path: Path, perform: Runner) -> None:
    pids = tmp_path / "pids"
    command = script(tmp_path, f"echo $$ >> {pids}; sleep 1000 & echo $! >> {pids}; wait")
    started: list[int] = []
    for timeout in (0.1, 1.0, 10.0):  # on a slow machine it may be killed before it has written both pids
        event = perform(c.RunPlugin(command=command, timeout=timeout))
        assert event == c.Failed(f"it did not exit within {timeout:g} s")
        started += [int(line) for line in pids.read_text().split()] if pids.exists() else []
        if len(started) > 1:
            break
    start = time.monotonic()
    assert len(started) > 1
    while any(is_running(pid) for pid in started):  # signals arrive asynchronously
        assert time.monotonic() < start + 30, "the plugin or its child still runs"


def test_a_plugin_with_endless_output_is_killed(tmp_path: Path, perform: Runner) -> None:
    event = perform(c.RunPlugin(command=script(tmp_path, "exec yes")))
    assert event == c.Failed("it printed more than 1048576 bytes")


def test_a_plugin_that_does_not_exist_is_missing(tmp_path: Path, perform: Runner) -> None:
    assert perform(c.RunPlugin(command="no-such-login")) == c.PluginMissing()
    assert perform(c.RunPlugin(command=str(tmp_path / "login"))) == c.PluginMissing()


def test_the_failure_of_a_plugin_that_cannot_be_started_has_a_reason(tmp_path: Path, perform: Runner) -> None:
    file = tmp_path / "login"
    file.write_text("no program")
    assert perform(c.RunPlugin(command=str(file))) == c.Failed("it cannot be started: Permission denied")
    file.chmod(stat.S_IRWXU)
    assert perform(c.RunPlugin(command=str(file))) == c.Failed(
        "it cannot be started: it is neither a program nor a script with a #! line"
    )
    failure = c.Failed("it cannot be started: its command is invalid")
    assert perform(c.RunPlugin(command="log\0in")) == failure


def test_a_closed_standard_input_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def isatty(self) -> bool:
            raise ValueError("I/O operation on closed file")

    results: list[bool] = []
    for stdin in (None, Closed()):
        monkeypatch.setattr("sys.stdin", stdin)
        results.append(has_terminal())
    assert results == [False, False]


def test_cancellation_ends_the_plugin(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = c.RunPlugin(command=script(tmp_path, f"echo $$ >> {pids}; exec sleep 1000"))

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_plugin, task)
            with anyio.fail_after(30):
                while not pids.exists() or not pids.read_text():
                    await anyio.sleep(0.005)
            tasks.cancel_scope.cancel()
        assert not is_running(int(pids.read_text()))

    backends: list[Any] = ["asyncio", "trio"]
    for backend in backends:
        pids.unlink(missing_ok=True)
        anyio.run(main, backend=backend)


@pytest.mark.parametrize("interactive", [False, True])
def test_a_child_that_outlives_the_plugin_is_killed_by_the_time_limit(
    tmp_path: Path, perform: Runner, interactive: bool
) -> None:
    started = tmp_path / "child"
    # The plugin exits, and its child keeps the output open; or the plugin waits for its child.
    lines = (f"sh -c 'echo $$ > {started}; exec sleep 600' {'' if interactive else '&'}", "exit 0")
    task = c.RunPlugin(command=script(tmp_path, *lines), timeout=1.0, interactive=interactive)
    assert perform(task) == c.Failed("it did not exit within 1 s")
    deadline = time.monotonic() + 10
    while is_running(int(started.read_text())):
        assert time.monotonic() < deadline


def test_a_daemon_of_a_plugin_that_has_exited_continues(tmp_path: Path, perform: Runner) -> None:
    started = tmp_path / "child"
    lines = (
        f"sh -c 'echo $$ > {started}; exec sleep 600' > /dev/null &",
        f"until [ -s {started} ]; do sleep 0.01; done",
        "echo credentials",
    )
    assert perform(c.RunPlugin(command=script(tmp_path, *lines))) == c.PluginExited(0, b"credentials\n")
    pid = int(started.read_text())
    assert is_running(pid)
    os.kill(pid, signal.SIGKILL)
