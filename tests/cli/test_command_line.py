"""The command line as a process: help, exit statuses, errors in a single line, completion, closed pipes."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import pytest

from kubeproto_cli import main
from kubeproto_cli._commands import Command
from kubeproto_cli._main import COMMANDS, kubeproto

pytestmark = pytest.mark.one_python

PROGRAM: Final = (sys.executable, "-m", "kubeproto_cli")


def run_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_summary_in_the_list_of_commands_is_the_first_line_of_the_help(name: str) -> None:
    command = COMMANDS[name].load()
    assert command.name == name
    assert COMMANDS[name].summary == (command.help or "").partition("\n")[0]
    assert COMMANDS[name].summary.endswith(".")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_help_shows_complete_examples_that_can_be_parsed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = COMMANDS[name].load()
    assert isinstance(command, Command)
    assert command.examples
    assert main([name, "--help"]) == 0
    output = capsys.readouterr().out
    for purpose, message in command.examples:
        assert f"  # {purpose}\n  {message}\n" in output
        arguments = shlex.split(message.removeprefix("source <(").removesuffix(")").partition(" > ")[0])
        assert arguments[:2] == ["kubeproto", name]
        command.make_context(name, arguments[2:])


def test_help_imports_no_other_module_of_the_project() -> None:
    script = (
        "import sys; from kubeproto_cli import main; main(['--help']);"
        "print([name for name in sys.modules if name.startswith(('kubeproto', 'msgspec'))], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Serve a simulated Kubernetes API on a port." in result.stdout
    loaded = json.loads(result.stderr.replace("'", '"'))
    own_modules = {f"kubeproto_cli.{name}" for name in ("_main", "_commands", "_command_errors")}
    assert set(loaded) == {"kubeproto_cli", *own_modules}


def test_version_prints_the_version_of_the_distribution() -> None:
    result = run_command("--version")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("kubeproto 0.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serv"], "kubeproto: no such command 'serv'; see kubeproto --help"),
        (["serve", "--nothing"], "kubeproto serve: no such option '--nothing'; see kubeproto serve --help"),
        (
            ["serve", "--port", "many"],
            "kubeproto serve: invalid value for '--port': 'many' is not a valid integer range;"  # noqa: ISC004
            " see kubeproto serve --help",
        ),
    ],
)
def test_a_wrong_command_line_is_reported_in_a_single_line_with_status_2(
    arguments: list[str], message: str
) -> None:
    result = run_command(*arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"{message}\n")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("get", "use `kubectl get`, or `kubeproto watch` for a live table"),
        *[(name, f"use `kubectl {name}`") for name in ("cp", "drain", "exec", "port-forward", "wait")],
    ],
)
def test_the_error_for_a_command_of_kubectl_names_kubectl(
    name: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "pods", "-o", "name"]) == 2
    output = capsys.readouterr()
    error = f"kubeproto: there is no command '{name}': {advice}; see kubeproto --help\n"
    assert (output.out, output.err) == ("", error)


def test_kubeproto_without_a_command_prints_the_help_and_exits_with_2() -> None:
    result = run_command()
    assert (result.returncode, result.stderr) == (2, "")
    assert result.stdout == run_command("--help").stdout


def test_an_invalid_manifest_is_reported_in_a_single_line_with_status_1(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [\n")
    result = run_command("serve", "--port", "0", "--load", str(tmp_path / "broken.yaml"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"kubeproto serve: {tmp_path}/broken.yaml: ")
    assert result.stderr.count("\n") == 1


def test_a_port_in_use_is_reported_in_a_single_line_with_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        result = run_command("serve", "--empty", "--port", port)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"kubeproto serve: 127.0.0.1:{port} is in use: use another --port, or 0 for a free port\n"
    )


def test_a_module_that_no_extra_has_brought_is_named_with_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "kubeproto_serve", None)
    assert main(["serve", "--empty"]) == 1
    assert capsys.readouterr().err == (
        "kubeproto serve: the simulated server is not installed: pip install 'kubeproto[cli,serve]'\n"
    )


def test_the_error_without_click_names_the_package() -> None:
    script = "import sys; sys.modules['click'] = None; from kubeproto_cli import main; sys.exit(main([]))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "kubeproto: the command line needs click: pip install kubeproto[cli]\n"


def test_a_mistake_of_the_program_shows_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def raise_error() -> None:
        raise AssertionError("a mistake")

    monkeypatch.setattr(kubeproto, "get_command", lambda ctx, name: raise_error)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(AssertionError, match="a mistake"):
        main(["broken"])


def test_a_closed_pipe_ends_the_program_silently() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        result = subprocess.run([*PROGRAM, "--help"], stdout=write_end, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write_end)
    assert (result.returncode, result.stderr) == (141, b"")


def test_ctrl_c_ends_the_program_without_a_traceback() -> None:
    # A command that only sleeps, so that it has no signal handler of its own.
    script = (
        "import sys, time, click; from kubeproto_cli import _main, main;"
        "pause = click.Command('pause', callback=lambda: (print('waiting', flush=True), time.sleep(600)));"
        "_main.kubeproto.get_command = lambda ctx, name: pause; sys.exit(main(['pause']))"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, b"")


def test_completion_offers_commands_and_options() -> None:
    def completions(*arguments: str) -> list[str]:
        result = run_command(
            COMP_WORDS=shlex.join(arguments),
            COMP_CWORD=str(len(arguments) - 1),
            _KUBEPROTO_COMPLETE="bash_complete",
        )
        return [message.partition(",")[2] for message in result.stdout.split()]

    assert completions("kubeproto", "se") == ["serve"]
    assert completions("kubeproto", "get", "po") == []  # only kubectl has this command
    assert completions("kubeproto", "serve", "--tls-") == ["--tls-cert", "--tls-key"]
    assert completions("kubeproto", "serve", "--authorization", "R") == ["RBAC"]


@pytest.mark.parametrize("shell", ["fish", "zsh"])
def test_completion_in_fish_and_zsh_includes_descriptions(shell: str) -> None:
    """Call the program like the scripts of `completion`, as the machine may have neither shell."""
    fish = shell == "fish"
    arguments = "kubeproto serv" if fish else "kubeproto\nserv"  # fish passes the line and its last word
    result = run_command(
        COMP_WORDS=arguments, COMP_CWORD="serv" if fish else "1", _KUBEPROTO_COMPLETE=f"{shell}_complete"
    )
    assert (result.returncode, result.stderr) == (0, "")
    completion_type, name, purpose = re.split(r"[,\t\n]", result.stdout.strip())
    assert (completion_type, name) == ("plain", "serve")
    assert purpose.startswith(COMMANDS["serve"].summary.rstrip("."))


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_completion_script_calls_the_program(shell: str) -> None:
    result = run_command("completion", shell)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"_KUBEPROTO_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.needs("bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "kubeproto"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    script = (
        "source <(kubeproto completion bash); COMP_WORDS=(kubeproto se); COMP_CWORD=1;"
        ' _kubeproto_completion kubeproto; echo "${COMPREPLY[@]}"'
    )
    result = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert result.stdout == "serve\n", result.stderr
