"""Installs transports for a test: the entry points of a distribution in a folder or an archive."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

NAME = "pigeon-1.0.dist-info"


def metadata(group: str, *transports: tuple[str, str], extra: str = "") -> dict[str, str]:
    """Return the files of a distribution with these entry points, by their names."""
    lines = "".join(f"{name} = {value}\n" for name, value in transports)
    return {
        "METADATA": "Metadata-Version: 2.1\nName: pigeon\nVersion: 1.0\n",
        "entry_points.txt": f"[console_scripts]\npigeon = pigeon:main\n\n[{group}]\n{lines}{extra}",
    }


def in_folder(folder: Path, files: dict[str, str]) -> str:
    """Write a distribution to a folder, and return its entry of `sys.path`."""
    (folder / NAME).mkdir(parents=True)
    for name, text in files.items():
        (folder / NAME / name).write_text(text)
    return str(folder)


def in_archive(path: Path, files: dict[str, str]) -> str:
    """Write a distribution to a zip archive, and return its entry of `sys.path`."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{NAME}/{name}", text)
    return str(path)


def on_path(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    """Insert an entry at the begin of `sys.path`."""
    monkeypatch.setattr(sys, "path", [entry, *sys.path])
