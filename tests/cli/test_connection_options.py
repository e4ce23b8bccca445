"""--server, --token and --insecure-skip-tls-verify against a server with TLS that requires a token."""

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
    """A served cluster, and a manifest for it."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    with serving(sim.Cluster(), security=self_signed(tokens={TOKEN: "ann"})) as server:
        yield server


def run_command(folder: Path, *command_line: str) -> subprocess.CompletedProcess[str]:
    """Run a command without a kubeconfig."""
    return call_in(folder, *command_line, HOME=str(folder))


def test_a_url_and_a_token_replace_a_kubeconfig(server: SimServer, tmp_path: Path) -> None:
    result = run_command(tmp_path, *APPLY, "--server", server.url, "--token", TOKEN, UNCHECKED)
    assert (result.returncode, result.stdout) == (0, APPLIED)
    assert result.stderr.startswith("Warning: the given server: insecure-skip-tls-verify is set")
    assert result.stderr.count("\n") == 1


def test_a_certificate_is_verified_by_default(server: SimServer, tmp_path: Path) -> None:
    result = run_command(tmp_path, *APPLY, "-s", server.url, "--token", TOKEN)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "certificate" in result.stderr


@pytest.mark.parametrize("command", [" ".join(APPLY), "doctor", "watch cm -o jsonl", "logs web"])
def test_the_error_for_a_wrong_token_does_not_show_the_token(
    server: SimServer, tmp_path: Path, command: str
) -> None:
    wrong_token = "not" + TOKEN
    result = run_command(tmp_path, *command.split(), "-s", server.url, "--token", wrong_token, UNCHECKED)
    assert result.returncode == 1
    assert "401" in result.stdout + result.stderr or "Unauthorized" in result.stdout + result.stderr
    assert wrong_token not in result.stdout + result.stderr


def test_the_token_option_overrides_the_kubeconfig(server: SimServer, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(server.kubeconfig.replace(TOKEN, "old"))
    assert run_command(tmp_path, *APPLY, "--kubeconfig", "config").returncode == 1
    result = run_command(tmp_path, *APPLY, "--kubeconfig", "config", "--token", TOKEN)
    assert (result.returncode, result.stdout, result.stderr) == (0, APPLIED, "")


def test_the_options_hide_secrets_and_convert_back_to_arguments() -> None:
    options = ConnectionOptions(server="https://h", token=TOKEN, insecure=True)
    assert TOKEN not in repr(options)
    assert options.arguments == ["--server", "https://h", "--token", TOKEN, UNCHECKED]
    for server in (f"https://user:{TOKEN}@h", f"https://h?token={TOKEN}", f"https://u:@{TOKEN}@h"):
        assert TOKEN not in repr(ConnectionOptions(server=server))
