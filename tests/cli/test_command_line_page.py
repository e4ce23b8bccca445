"""The commands of the page on the command line, typed as they stand there, against a served cluster."""

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
# Those that are tried here; the others have tests of their own.
TRIED: Final = ("apply", "diff", "watch")

SETTINGS: Final = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"color": "blue"},
}  # fmt: skip


def commands() -> list[str]:
    blocks = re.findall(r"^```shell\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.split()[:2] in [["kubeproto", name] for name in TRIED]]


def fill(cli: CommandLine) -> None:
    for name, labels in (("web", {"app": "web"}), ("db", {"app": "db"})):
        cli.cluster.put({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"containers": [{"name": "main", "image": "one:1"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        })  # fmt: skip


def test_each_command_of_the_page_does_what_the_page_says(cli: CommandLine) -> None:
    cli.server.call(fill, cli)
    (cli.folder / "deploy").mkdir()
    (cli.folder / "deploy" / "settings.json").write_text(json.dumps(SETTINGS))
    seen: set[str] = set()
    for line in commands():
        words = shlex.split(line)[1:]
        seen.add(words[0])
        if words[0] == "watch":
            options = [] if "-o" in words else ["-o", "jsonl"]
            with cli.start(*words, *options) as process:
                assert process.stdout is not None
                assert json.loads(process.stdout.readline())["type"] == "ADDED"
        else:
            done = cli.call(*words)
            assert (done.returncode, done.stderr) == (1 if words[0] == "diff" else 0, ""), (line, done)
    assert seen == set(TRIED)
