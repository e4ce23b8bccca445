"""The generated parts of pages follow the code and the published measurement; `make pages` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.pages import ROOT, fill_parts, generated_files

FILES = generated_files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_committed_page_equals_the_generated_one(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "run: make pages"


def test_a_generated_part_is_replaced_and_the_rest_is_kept() -> None:
    assert fill_parts("It has <!--release 1.30-->0<!--end--> too.") == (
        "It has <!--release 1.30-->1.30.14<!--end--> too."
    )
