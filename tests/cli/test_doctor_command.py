"""`kubeproto doctor` as a process: in a pipe, on a terminal, its exit statuses, Ctrl-C, a closed pipe."""

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


def silent_server(cli: CommandLine) -> socket.socket:
    """A server that takes connections and never responds, which the kubeconfig names."""
    listening = socket.create_server(("127.0.0.1", 0))
    document = json.loads(cli.kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{listening.getsockname()[1]}"
    cli.kubeconfig.write_text(json.dumps(document))
    return listening


def test_what_is_well_is_a_line_each_and_status_0(cli: CommandLine) -> None:
    done = cli.run("doctor")
    assert done.stderr == ""
    lines = [line.split()[:2] for line in done.stdout.splitlines()]
    assert lines == [
        ["ok", name]
        for name in ("kubeconfig", "context", "settings", "server", "account", "namespace", "permissions")
    ]


def test_what_is_wrong_has_a_line_with_what_to_do_and_status_1(cli: CommandLine) -> None:
    done = cli.call("doctor", "--context", "prod", status=1)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-2:] == [
        "failed   context      the requested context 'prod' does not exist",
        f"{'':21} to do: choose one of kubeproto: --context NAME, or `kubectl config use-context NAME`",
    ]


def test_json_has_one_object_a_check(cli: CommandLine) -> None:
    checks = [
        json.loads(line)
        for line in cli.call("doctor", "-o", "json", "-n", "gone", status=1).stdout.splitlines()
    ]
    assert {check["outcome"] for check in checks} == {"ok", "failed"}
    (failure,) = [check for check in checks if check["outcome"] == "failed"]
    assert failure["name"] == "namespace"
    assert failure["finding"] == "gone does not exist"
    assert "kubectl create namespace gone" in failure["advice"]


def test_the_rights_of_a_file_are_checked(cli: CommandLine) -> None:
    path = cli.folder / "access.json"
    path.write_text(dump_access([RequiredAccess("", "pods", "list")]))
    assert "the account has all 1 needed permissions" in cli.call("doctor", "--access", str(path)).stdout
    path.write_text("no")
    done = cli.call("doctor", "--access", str(path), status=1)
    assert done.stdout == ""
    assert done.stderr.startswith(f"kubeproto doctor: {path}: this is not the output of AccessRecorder")


def test_on_a_terminal_outcomes_have_colors(cli: CommandLine) -> None:
    with cli.terminal("doctor", columns=120) as terminal:
        assert terminal.wait() == 0
        assert "\x1b[32mok" in terminal.output
        assert "ok       kubeconfig" in terminal.screen.text
    with cli.terminal("doctor", "--context", "prod", columns=120) as terminal:
        assert terminal.wait() == 1
        assert "\x1b[31mfailed" in terminal.output


def test_ctrl_c_ends_it_without_a_traceback(cli: CommandLine) -> None:
    with silent_server(cli), cli.terminal("doctor") as terminal:
        terminal.wait_for(lambda screen: "settings" in screen.text)
        terminal.send("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output


def test_sigint_in_a_pipe_is_status_130(cli: CommandLine) -> None:
    with silent_server(cli) as listening, cli.start("doctor") as process:
        accepted, _ = listening.accept()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        accepted.close()
    assert (process.returncode, said) == (130, "")


def test_a_reader_that_goes_away_ends_it_without_a_word(cli: CommandLine) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*PROGRAM, "doctor"], stdout=writing, stderr=subprocess.PIPE, check=False, env=cli.environment
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
