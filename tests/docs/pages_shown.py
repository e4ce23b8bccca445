"""The snippets of the pages, and their output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

ROOT: Final = Path(__file__).resolve().parents[2]
FENCE: Final = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
CAPTION: Final = re.compile(r":caption: (\S+)\n+")


class Snippet(Struct, frozen=True):
    """A block of code: its language, the file name in its caption, and its line."""

    language: str
    text: str
    line: int
    file: str = ""


def pages() -> list[Path]:
    """Return the README and all pages of the documentation."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *docs]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def snippets(page: Path) -> Iterator[Snippet]:
    """Yield the blocks of code of a page in their order."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        info, code, line = block[1], block[2], text[: block.start(2)].count("\n")
        if info.startswith("{code-block}"):
            info = info.removeprefix("{code-block}").strip()
            if caption := CAPTION.match(code):
                yield Snippet(info, code[caption.end() :], line + caption[0].count("\n"), caption[1])
                continue
        yield Snippet(info, code, line)
