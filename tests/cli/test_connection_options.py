"""--server, --token and --insecure-skip-tls-verify against a server with TLS that asks for a token."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from command_processes import PROGRAM, call_in

import kubeproto_sim as sim
from kubeproto_cli._connecting import ConnectionOptions
from kubeproto_serve import SimServer, self_made, serving

pytestmark = pytest.mark.one_python

TOKEN: Final = "letme" + "in"
UNCHECKED: Final = "--insecure-skip-tls-verify"


@pytest.fixture
def server() -> Generator[SimServer]:
    cluster = sim.Cluster()
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}})
    with serving(cluster, security=self_made(tokens={TOKEN: "ann"})) as found:
        yield found


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where there is no kubeconfig."""
    return call_in(folder, *words, HOME=str(folder))


def run(program: tuple[str, ...], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program there, as a process."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    return subprocess.run(
        [*program, *words], capture_output=True, text=True, check=False, cwd=folder,
        env={**clean, "HOME": str(folder)},
    )  # fmt: skip


@pytest.mark.needs("kubectl")
def test_without_a_kubeconfig_it_connects_as_kubectl_does(server: SimServer, tmp_path: Path) -> None:
    words = ("get", "configmaps", "-o", "name", "--server", server.url, "--token", TOKEN, UNCHECKED)
    ours, theirs = run(PROGRAM, tmp_path, *words), run(("kubectl",), tmp_path, *words)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout) == (0, "configmap/settings\n")
    assert ours.stderr.startswith("Warning: the server that is asked for: insecure-skip-tls-verify is set")
    assert ours.stderr.count("\n") == 1


def test_a_certificate_is_checked_unless_it_is_said(server: SimServer, tmp_path: Path) -> None:
    done = called(tmp_path, "get", "cm", "-s", server.url, "--token", TOKEN)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "certificate" in done.stderr


@pytest.mark.parametrize("command", ["get cm", "doctor", "watch cm -o jsonl", "logs web"])
def test_a_wrong_token_is_an_error_that_does_not_show_it(
    server: SimServer, tmp_path: Path, command: str
) -> None:
    wrong = "not" + TOKEN
    done = called(tmp_path, *command.split(), "-s", server.url, "--token", wrong, UNCHECKED)
    assert done.returncode == 1
    assert "401" in done.stdout + done.stderr or "Unauthorized" in done.stdout + done.stderr
    assert wrong not in done.stdout + done.stderr


def test_in_place_of_what_the_kubeconfig_says(server: SimServer, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(server.kubeconfig.replace(TOKEN, "old"))
    base = ("get", "cm", "-o", "name", "--kubeconfig", "config")
    assert called(tmp_path, *base).returncode == 1
    done = called(tmp_path, *base, "--token", TOKEN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "configmap/settings\n", "")


def test_the_options_show_no_secret_and_become_a_command_line_again() -> None:
    options = ConnectionOptions(server="https://h", token=TOKEN, insecure=True)
    assert TOKEN not in repr(options)
    assert options.words == ["--server", "https://h", "--token", TOKEN, UNCHECKED]
    for server in (f"https://user:{TOKEN}@h", f"https://h?token={TOKEN}", f"https://u:@{TOKEN}@h"):
        assert TOKEN not in repr(ConnectionOptions(server=server))
