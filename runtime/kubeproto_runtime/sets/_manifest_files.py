"""`read_manifests`: reads the objects of files, folders and standard input, as ``kubectl apply -f`` does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kubeproto import Dynamic, InvalidManifest, parse_manifest
from kubeproto.objects import TooDeep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_SUFFIXES: Final = (".yaml", ".yml", ".json")


class ManifestFiles(Struct, frozen=True):
    """The objects of several files. `failures` lists the unreadable files, each with the reason.

    A plan deletes no objects while there are failures: an object without a manifest may have its manifest in
    an unreadable file.
    """

    objects: tuple[Dynamic, ...] = ()
    failures: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{len(self.objects)} objects, {len(self.failures)} failures>"


def read_manifests(
    *paths: str | Path, recursive: bool = False, stdin: BinaryIO | None = None
) -> ManifestFiles:
    """Read the objects of files and folders; ``-`` is standard input.

    The files of a folder with the suffix .yaml, .yml or .json are read in the order of their names. With
    `recursive`, the files of its subfolders are read too. A folder without such files is a failure, because
    it is usually a mistake.
    """
    objects: list[Dynamic] = []
    failures: list[str] = []
    for path in paths:
        try:
            for name, text in _read_files(path, recursive, stdin):
                try:
                    objects += parse_manifest(text)
                except (InvalidManifest, TooDeep) as error:
                    failures.append(f"{name}: {error}")
        except OSError as error:
            failures.append(f"{path}: {error.strerror or error}")
    return ManifestFiles(tuple(objects), tuple(failures))


def _read_files(path: str | Path, recursive: bool, stdin: BinaryIO | None) -> Iterator[tuple[str, bytes]]:
    if str(path) == "-":
        yield "standard input", (stdin or sys.stdin.buffer).read()
        return
    source = Path(path)
    if not source.is_dir():
        yield str(source), source.read_bytes()
        return
    entries = sorted(source.rglob("*") if recursive else source.iterdir())
    files = [file for file in entries if file.suffix in _SUFFIXES and file.is_file()]
    if not files:
        raise FileNotFoundError(0, f"it contains no file that ends in {', '.join(_SUFFIXES)}")
    for file in files:
        yield str(file), file.read_bytes()
