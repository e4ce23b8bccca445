"""The committed corpus of each fuzz target, as plain tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())

# The modules of site-packages that are imported with the targets and missing in atheris' environment.
IMPORT_SCRIPT: Final = """
import sys
sys.path[:0] = {path!r}
before = set(sys.modules)
import run, targets
found = {{name.partition(".")[0]: module for name, module in sys.modules.items() if name not in before}}
files = {{name: getattr(module, "__file__", None) or "" for name, module in found.items()}}
installed = {{name for name, file in files.items() if "site-packages" in file}}
print(sorted(installed - {{*run.IMPORTED_PACKAGES.values()}} - {{"typing_extensions"}}))  # these need none
"""


def test_every_target_has_a_corpus() -> None:
    assert {path.parent.name for path in FILES} == set(TARGETS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_input_of_the_corpus_breaks_its_target(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


def test_the_targets_import_nothing_that_their_environment_lacks() -> None:
    code = IMPORT_SCRIPT.format(path=[str(CORPUS.parent), *sys.path])
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"
