"""Run the commands of `commands.txt` by section, and replace the varying parts of their output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

import msgspec

from .manifests import MANIFESTS

FOLDER: Final = Path(__file__).parent
TRANSCRIPT: Final = FOLDER / "transcript.json"
VERSION: Final = "1.32"
_NAMESPACE: Final = "commands"
_REPLACEMENTS: Final = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b", "TIME"),
    (r"\beyJ[\w.-]+|\b[0-9a-f]{16}\.[0-9a-f]{16}\.sim\b", "TOKEN"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "TIME"),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"(\s)\d+(m?s|m\d+s)(?=\s|$)", r"\1AGE"),
    (r"(/tmp)?/(LIVE|MERGED)-\d+", r"/\2"),
    (r"\b(nodePort\"?: ?)\d+", r"\1PORT"),
    (r"https?://[\w.\[\]:]+", "SERVER"),
    (r" +\n", "\n"),
    (r"[ \t]+", " "),
)  # fmt: skip
# Errors about a new kind while its conditions and its OpenAPI description are missing.
_TRANSIENT_MESSAGES: Final = {
    "explain": "couldn't find resource",
    "wait": ".status.conditions accessor error",
}
_TIMEOUT: Final = 60.0
_READ_COMMANDS: Final = ("api-resources", "api-versions", "auth", "describe", "explain", "get", "wait")
_STRUCTURE: Final = re.compile(r"error|[A-Z]+:|\s+[\w$-]+\t<.*>|\s+[A-Z]\w+$")


class Step(msgspec.Struct, frozen=True):
    """A command with its exit status and its output."""

    command: str
    status: int
    output: str


def find_kubectl() -> str | None:
    """Return the path of kubectl `VERSION`, or None; other versions print differently."""
    versioned_name = f"kubectl.{VERSION}"
    if path := shutil.which(versioned_name):
        return path
    unversioned_path = shutil.which("kubectl")
    folders = [Path(unversioned_path).resolve().parent] if unversioned_path else []
    for folder in [*folders, Path("/usr/lib/google-cloud-sdk/bin")]:
        if (folder / versioned_name).exists():
            return str(folder / versioned_name)
    return None


def read_sections() -> dict[str, list[str]]:
    """Return the commands by section."""
    commands_by_section: dict[str, list[str]] = {}
    _, *parts = (FOLDER / "commands.txt").read_text().split("\n\n# ")
    for part in parts:
        title, *lines = part.splitlines()
        commands_by_section[title] = [line for line in lines if line]
    return commands_by_section


def run_commands(
    program: str,
    kubeconfig: Path,
    home: Path,
    commands: Iterable[str],
    context: str = "",
    expected: Iterable[Step] = (),
) -> Iterator[Step]:
    """Run commands against a server, in a new namespace.

    A real server applies new kinds and permissions with a delay. Commands that only read are repeated until
    they print the `expected` output, or until a timeout.
    """
    # kubectl runs for 100 ms: it needs no garbage collector, and more threads make it slower.
    environment = {**os.environ, "GOGC": "off", "GOMAXPROCS": "1"}
    environment |= {"HOME": str(home), "KUBECONFIG": str(kubeconfig)}
    flags = [f"--cache-dir={home}/cache", f"--namespace={_NAMESPACE}"]
    flags += [f"--context={context}"] if context else []

    def call(arguments: list[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *flags, *arguments], input=stdin, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
        )  # fmt: skip

    call(["create", "namespace", _NAMESPACE])
    call(["wait", "--for=create", "serviceaccount/default"])  # without it pods are refused
    for line, expected_step in zip_longest(commands, expected):
        command, _, manifest = line.partition(" < ")
        arguments = [
            argument.replace("_", " ") if argument == "--schedule=0_0_*_*_*" else argument
            for argument in command.split(" ")
        ]
        result = call(arguments, MANIFESTS[manifest] if manifest else "")
        deadline = time.monotonic() + _TIMEOUT
        while (
            (early_message := _TRANSIENT_MESSAGES.get(arguments[0]))
            and early_message in result.stdout
            and time.monotonic() < deadline
        ):
            result = call(arguments)
        step = _step(line, result)
        while (
            expected_step
            and not manifest
            and arguments[0] in _READ_COMMANDS
            and step != expected_step
            and time.monotonic() < deadline
        ):
            step = _step(line, call(arguments))
        yield step
    call(["delete", "namespace", _NAMESPACE, "--wait=false"])


def _step(line: str, result: subprocess.CompletedProcess[str]) -> Step:
    return Step(
        line, result.returncode, scrub_output(result.stdout, is_explanation=line.startswith("explain "))
    )


def scrub_output(text: str, *, is_explanation: bool = False) -> str:
    """Replace the varying parts of the output, and remove the prose of explanations."""
    if is_explanation:
        text = "\n".join(line for line in text.splitlines() if _STRUCTURE.match(line))
    for pattern, replacement in _REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    return text.strip()


def read_transcript() -> dict[str, list[Step]]:
    """Return the recorded steps of each section against a real control plane."""
    steps = iter(msgspec.json.decode(TRANSCRIPT.read_bytes(), type=list[Step]))
    return {title: list(islice(steps, len(commands))) for title, commands in read_sections().items()}
