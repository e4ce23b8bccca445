"""`kubeproto doctor` as a process: output to pipes and terminals, exit statuses, Ctrl-C, a closed pipe."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess

import pytest
from command_processes import PROGRAM, CommandLine

from kubeproto_runtime.manifests import RequiredAccess, dump_access

pytestmark = pytest.mark.one_python


def start_silent_server(cli: CommandLine) -> socket.socket:
    """Start a server that accepts connections and never responds; the kubeconfig refers to it."""
    listener = socket.create_server(("127.0.0.1", 0))
    document = json.loads(cli.kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    cli.kubeconfig.write_text(json.dumps(document))
    return listener


def test_each_passed_check_is_a_line_and_the_status_is_0(cli: CommandLine) -> None:
    result = cli.run("doctor")
    assert result.stderr == ""
    lines = [line.split()[:2] for line in result.stdout.splitlines()]
    assert lines == [
        ["ok", name]
        for name in ("kubeconfig", "context", "settings", "server", "account", "namespace", "permissions")
    ]


def test_a_failed_check_has_a_line_with_the_remedy_and_the_status_is_1(cli: CommandLine) -> None:
    result = cli.call("doctor", "--context", "prod", status=1)
    assert result.stderr == ""
    assert result.stdout.splitlines()[-2:] == [
        "failed   context      the requested context 'prod' does not exist",
        f"{'':21} to do: choose one of kubeproto: --context NAME, or `kubectl config use-context NAME`",
    ]


def test_json_output_has_an_object_per_check(cli: CommandLine) -> None:
    checks = [
        json.loads(line)
        for line in cli.call("doctor", "-o", "json", "-n", "gone", status=1).stdout.splitlines()
    ]
    assert {check["outcome"] for check in checks} == {"ok", "failed"}
    (failure,) = [check for check in checks if check["outcome"] == "failed"]
    assert failure["name"] == "namespace"
    assert failure["finding"] == "gone does not exist"
    assert "kubectl create namespace gone" in failure["advice"]


def test_the_permissions_in_a_file_are_checked(cli: CommandLine) -> None:
    path = cli.folder / "access.json"
    path.write_text(dump_access([RequiredAccess("", "pods", "list")]))
    assert "the account has all 1 needed permissions" in cli.call("doctor", "--access", str(path)).stdout
    path.write_text("no")
    result = cli.call("doctor", "--access", str(path), status=1)
    assert result.stdout == ""
    assert result.stderr.startswith(f"kubeproto doctor: {path}: this is not the output of AccessRecorder")


def test_outcomes_are_colored_on_a_terminal(cli: CommandLine) -> None:
    with cli.terminal("doctor", columns=120) as terminal:
        assert terminal.wait() == 0
        assert "\x1b[32mok" in terminal.output
        assert "ok       kubeconfig" in terminal.screen.text
    with cli.terminal("doctor", "--context", "prod", columns=120) as terminal:
        assert terminal.wait() == 1
        assert "\x1b[31mfailed" in terminal.output


def test_ctrl_c_ends_doctor_without_a_traceback(cli: CommandLine) -> None:
    with start_silent_server(cli), cli.terminal("doctor") as terminal:
        terminal.wait_for(lambda screen: "settings" in screen.text)
        terminal.send("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output


def test_sigint_ends_doctor_with_status_130(cli: CommandLine) -> None:
    with start_silent_server(cli) as listener, cli.start("doctor") as process:
        connection, _ = listener.accept()
        process.send_signal(signal.SIGINT)
        _, stderr_text = process.communicate(timeout=60)
        connection.close()
    assert (process.returncode, stderr_text) == (130, "")


def test_a_closed_pipe_ends_doctor_silently(cli: CommandLine) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        result = subprocess.run(
            [*PROGRAM, "doctor"], stdout=write_end, stderr=subprocess.PIPE, check=False, env=cli.environment
        )
    finally:
        os.close(write_end)
    assert (result.returncode, result.stderr) == (141, b"")
