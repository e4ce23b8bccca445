"""The manifests beside the examples are what the command prints, with the rights that a test has recorded.

After a change of an example: ``python tests/examples/test_example_manifests.py`` writes both files anew.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from deployed import recorded
from stories import OPERATORS

from kubeproto import sim
from kubeproto_runtime.manifests import dump_access

pytestmark = pytest.mark.one_python

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
NAMES: Final = ("echo", "hello")


def access_of(name: str) -> str:
    make, story, kind, namespace = OPERATORS[name]
    return dump_access(recorded(make, story, sim.Cluster(crds=[kind]), namespace).needed)


def printed(name: str) -> str:
    """What the line in the README of an example prints."""
    command = [sys.executable, "-m", "kubeproto_cli", "manifests", f"{name}.py:deployed"]
    options = ["--name", f"{name}-operator", "--access", "access.json"]
    done = subprocess.run(
        [*command, *options], cwd=EXAMPLES / name, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_rights_are_those_that_the_example_needs(name: str) -> None:
    assert (EXAMPLES / name / "access.json").read_text() == access_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_manifests_are_what_the_command_prints(name: str) -> None:
    line = f"kubeproto manifests {name}.py:deployed --name {name}-operator --access access.json"
    assert line in (EXAMPLES / name / "README.md").read_text()
    assert (EXAMPLES / name / "manifests.yaml").read_text() == printed(name)


if __name__ == "__main__":
    for one in NAMES:
        (EXAMPLES / one / "access.json").write_text(access_of(one))
        (EXAMPLES / one / "manifests.yaml").write_text(printed(one))
