"""The manifests of the examples are the output of the command, with recorded permissions.

After a change of an example, `python tests/examples/test_example_manifests.py` writes the files again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from packaged_programs import PROGRAMS
from simulated_programs import record_access

from kubeproto_runtime.manifests import dump_access

pytestmark = pytest.mark.one_python

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
# The arguments of `kubeproto manifests` in each README.
COMMANDS: Final = {
    "books": "on_asyncio.py:deployed --name books",
    "echo": "echo.py:deployed --name echo-operator --access access.json",
    "foos": "foos.py:deployed",
    "hello": "hello.py:deployed --name hello-operator --access access.json",
    "nodes": "nodes.py:deployed --access access.json",
}
RECORDED: Final = [name for name, command in COMMANDS.items() if "--access" in command]


def access_of(name: str) -> str:
    return dump_access(record_access(PROGRAMS[name]).needed)


def printed(name: str) -> str:
    """Return the output of the command in an example's README."""
    command = [sys.executable, "-m", "kubeproto_cli", "manifests", *COMMANDS[name].split()]
    completed = subprocess.run(command, cwd=EXAMPLES / name, capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")
    return completed.stdout


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_permissions_equal_the_needed_permissions(name: str) -> None:
    assert (EXAMPLES / name / "access.json").read_text() == access_of(name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in RECORDED else [pytest.mark.thorough("a process for each")])
        for name in COMMANDS
    ],
)
def test_the_manifests_equal_the_output_of_the_command(name: str) -> None:
    line = f"kubeproto manifests {COMMANDS[name]} > manifests.yaml"
    assert line in (EXAMPLES / name / "README.md").read_text()
    assert (EXAMPLES / name / "manifests.yaml").read_text() == printed(name)


if __name__ == "__main__":
    for name in COMMANDS:
        if name in RECORDED:
            (EXAMPLES / name / "access.json").write_text(access_of(name))
        (EXAMPLES / name / "manifests.yaml").write_text(printed(name))
