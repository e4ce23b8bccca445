"""The commands on the page about the command line run against a served cluster."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest
from command_processes import CommandLine

pytestmark = pytest.mark.one_python

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text()
# Other tests run the other commands.
TESTED_COMMANDS: Final = ("apply", "diff", "watch")

SETTINGS: Final = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"color": "blue"},
}  # fmt: skip


def page_commands() -> list[str]:
    blocks = re.findall(r"^```shell\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.split()[:2] in [["kubeproto", name] for name in TESTED_COMMANDS]]


def fill(cli: CommandLine) -> None:
    for name, labels in (("web", {"app": "web"}), ("db", {"app": "db"})):
        cli.cluster.put({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"containers": [{"name": "main", "image": "one:1"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        })  # fmt: skip


def test_each_command_on_the_page_succeeds(cli: CommandLine) -> None:
    cli.server.call(fill, cli)
    (cli.folder / "deploy").mkdir()
    (cli.folder / "deploy" / "settings.json").write_text(json.dumps(SETTINGS))
    run_commands: set[str] = set()
    for line in page_commands():
        arguments = shlex.split(line)[1:]
        run_commands.add(arguments[0])
        if arguments[0] == "watch":
            options = [] if "-o" in arguments else ["-o", "jsonl"]
            with cli.start(*arguments, *options) as process:
                assert process.stdout is not None
                assert json.loads(process.stdout.readline())["type"] == "ADDED"
        else:
            result = cli.call(*arguments)
            assert (result.returncode, result.stderr) == (1 if arguments[0] == "diff" else 0, ""), (
                line,
                result,
            )
    assert run_commands == set(TESTED_COMMANDS)
