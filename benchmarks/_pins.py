"""The files of peers, and their requirements from inline metadata (PEP 723)."""

import re
import tomllib
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parent.parent
PINS: Final = PROJECT / "benchmarks" / "peers"
CACHE: Final = PROJECT / ".cache" / "peers"

_BLOCK: Final = re.compile(r"^# /// script$\n((?:^#(?:| .*)$\n)+?)^# ///$", re.MULTILINE)


def requirements(file: Path) -> tuple[str, ...]:
    """Return the requirements in the head of a Python file; ValueError if it has none."""
    block = _BLOCK.search(file.read_text())
    if block is None:
        raise ValueError(f"{file} has no block `# /// script` that pins what it needs")
    text = "".join(line.removeprefix("#").removeprefix(" ") for line in block[1].splitlines(keepends=True))
    return tuple(tomllib.loads(text)["dependencies"])


def pinned_peers(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the requirements of each peer in a folder with pins."""
    files = sorted(file for file in folder.glob("*.py") if _BLOCK.search(file.read_text()))
    return {file.stem: requirements(file) for file in files}
