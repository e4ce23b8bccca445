"""The command line as a process: help, exit statuses, errors of one line, completion, broken pipes."""

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


def called(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *words], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_of_commands_says_of_each_what_its_own_help_says(name: str) -> None:
    command = COMMANDS[name].load()
    assert command.name == name
    assert COMMANDS[name].summary == (command.help or "").partition("\n")[0]
    assert COMMANDS[name].summary.endswith(".")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_examples_of_a_command_are_shown_whole_and_can_be_parsed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = COMMANDS[name].load()
    assert isinstance(command, Command)
    assert command.examples
    assert main([name, "--help"]) == 0
    told = capsys.readouterr().out
    for purpose, line in command.examples:
        assert f"  # {purpose}\n  {line}\n" in told
        words = shlex.split(line.removeprefix("source <(").removesuffix(")").partition(" > ")[0])
        assert words[:2] == ["kubeproto", name]
        command.make_context(name, words[2:])


def test_help_imports_no_command_and_nothing_else_of_the_project() -> None:
    script = (
        "import sys; from kubeproto_cli import main; main(['--help']);"
        "print([name for name in sys.modules if name.startswith(('kubeproto', 'msgspec'))], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Serve a simulated Kubernetes API on a port." in done.stdout
    loaded = json.loads(done.stderr.replace("'", '"'))
    own = {f"kubeproto_cli.{name}" for name in ("_main", "_commands", "_errors")}
    assert set(loaded) == {"kubeproto_cli", *own}


def test_the_version_is_that_of_the_distribution() -> None:
    done = called("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kubeproto 0.")


@pytest.mark.parametrize(
    ("words", "line"),
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
def test_a_wrong_command_line_is_one_line_and_status_2(words: list[str], line: str) -> None:
    done = called(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{line}\n")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("get", "use `kubectl get`, or `kubeproto watch` for a live table"),
        *[(name, f"use `kubectl {name}`") for name in ("cp", "drain", "exec", "port-forward", "wait")],
    ],
)
def test_a_command_that_kubectl_has_is_an_error_that_names_it(
    name: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "pods", "-o", "name"]) == 2
    output = capsys.readouterr()
    error = f"kubeproto: there is no command '{name}': {advice}; see kubeproto --help\n"
    assert (output.out, output.err) == ("", error)


def test_without_a_command_it_prints_the_help_and_ends_with_status_2() -> None:
    done = called()
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == called("--help").stdout


def test_a_file_that_is_not_a_manifest_is_one_line_and_status_1(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [\n")
    done = called("serve", "--port", "0", "--load", str(tmp_path / "broken.yaml"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"kubeproto serve: {tmp_path}/broken.yaml: ")
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_one_line_and_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = called("serve", "--empty", "--port", port)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
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


def test_without_click_it_says_what_to_install() -> None:
    script = "import sys; sys.modules['click'] = None; from kubeproto_cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kubeproto: the command line needs click: pip install kubeproto[cli]\n"


def test_a_mistake_of_the_program_shows_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def broken() -> None:
        raise AssertionError("a mistake")

    monkeypatch.setattr(kubeproto, "get_command", lambda ctx, name: broken)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(AssertionError, match="a mistake"):
        main(["broken"])


def test_a_reader_that_goes_away_ends_it_without_a_word() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([*PROGRAM, "--help"], stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    # A command that does nothing but wait, so that the signal meets it and no handler of its own.
    script = (
        "import sys, time, click; from kubeproto_cli import _main, main;"
        "pause = click.Command('pause', callback=lambda: (print('waits', flush=True), time.sleep(600)));"
        "_main.kubeproto.get_command = lambda ctx, name: pause; sys.exit(main(['pause']))"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waits\n"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, b"")


def test_a_shell_completes_commands_and_options() -> None:
    def completed(*words: str) -> list[str]:
        done = called(
            COMP_WORDS=shlex.join(words), COMP_CWORD=str(len(words) - 1), _KUBEPROTO_COMPLETE="bash_complete"
        )
        return [line.partition(",")[2] for line in done.stdout.split()]

    assert completed("kubeproto", "se") == ["serve"]
    assert completed("kubeproto", "get", "po") == []  # a command of kubectl alone
    assert completed("kubeproto", "serve", "--tls-") == ["--tls-cert", "--tls-key"]
    assert completed("kubeproto", "serve", "--authorization", "R") == ["RBAC"]


@pytest.mark.parametrize("shell", ["fish", "zsh"])
def test_the_other_shells_get_the_same_names_with_what_they_are_for(shell: str) -> None:
    """They are called as the scripts of `completion` do it, for a machine that has neither shell."""
    fish = shell == "fish"
    words = "kubeproto serv" if fish else "kubeproto\nserv"  # fish hands over the line and its last word
    done = called(
        COMP_WORDS=words, COMP_CWORD="serv" if fish else "1", _KUBEPROTO_COMPLETE=f"{shell}_complete"
    )
    assert (done.returncode, done.stderr) == (0, "")
    kind, name, purpose = re.split(r"[,\t\n]", done.stdout.strip())
    assert (kind, name) == ("plain", "serve")
    assert purpose.startswith(COMMANDS["serve"].summary.rstrip("."))


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_script_of_a_shell_calls_the_program_back(shell: str) -> None:
    done = called("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_KUBEPROTO_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.needs("bash")
def test_bash_takes_the_script_and_completes_with_it(tmp_path: Path) -> None:
    program = tmp_path / "kubeproto"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    script = (
        "source <(kubeproto completion bash); COMP_WORDS=(kubeproto se); COMP_CWORD=1;"
        ' _kubeproto_completion kubeproto; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout == "serve\n", done.stderr
