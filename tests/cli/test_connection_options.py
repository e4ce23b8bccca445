"""--server, --token and --insecure-skip-tls-verify against a server with TLS that asks for a token."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from command_processes import call_in

import kubeproto_sim as sim
from kubeproto_cli._connecting import ConnectionOptions
from kubeproto_serve import SimServer, self_signed, serving

pytestmark = pytest.mark.one_python

TOKEN: Final = "letme" + "in"
UNCHECKED: Final = "--insecure-skip-tls-verify"
APPLY: Final = ("apply", "-f", "settings.json")
APPLIED: Final = "configmap/settings created\n"


@pytest.fixture
def server(tmp_path: Path) -> Generator[SimServer]:
    """A served cluster, and a manifest that commands of the tests apply to it."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    with serving(sim.Cluster(), security=self_signed(tokens={TOKEN: "ann"})) as server:
        yield server


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where there is no kubeconfig."""
    return call_in(folder, *words, HOME=str(folder))


def test_without_a_kubeconfig_it_connects_with_the_url_and_the_token(
    server: SimServer, tmp_path: Path
) -> None:
    done = called(tmp_path, *APPLY, "--server", server.url, "--token", TOKEN, UNCHECKED)
    assert (done.returncode, done.stdout) == (0, APPLIED)
    assert done.stderr.startswith("Warning: the given server: insecure-skip-tls-verify is set")
    assert done.stderr.count("\n") == 1


def test_a_certificate_is_checked_unless_it_is_said(server: SimServer, tmp_path: Path) -> None:
    done = called(tmp_path, *APPLY, "-s", server.url, "--token", TOKEN)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "certificate" in done.stderr


@pytest.mark.parametrize("command", [" ".join(APPLY), "doctor", "watch cm -o jsonl", "logs web"])
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
    assert called(tmp_path, *APPLY, "--kubeconfig", "config").returncode == 1
    done = called(tmp_path, *APPLY, "--kubeconfig", "config", "--token", TOKEN)
    assert (done.returncode, done.stdout, done.stderr) == (0, APPLIED, "")


def test_the_options_show_no_secret_and_become_a_command_line_again() -> None:
    options = ConnectionOptions(server="https://h", token=TOKEN, insecure=True)
    assert TOKEN not in repr(options)
    assert options.arguments == ["--server", "https://h", "--token", TOKEN, UNCHECKED]
    for server in (f"https://user:{TOKEN}@h", f"https://h?token={TOKEN}", f"https://u:@{TOKEN}@h"):
        assert TOKEN not in repr(ConnectionOptions(server=server))
