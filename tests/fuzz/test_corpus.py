"""The committed corpus of each fuzz target, as plain tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


def test_every_target_has_a_corpus() -> None:
    assert {path.parent.name for path in FILES} == set(TARGETS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_input_of_the_corpus_breaks_its_target(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())
