"""The entry points of installed transports, read in a few milliseconds.

The import of `importlib.metadata` takes 20 ms, half of it for a parser of mail headers, and then it reads the
metadata of each distribution. That would slow down each start of a command. This module only reads the files
`entry_points.txt` of the folders on `sys.path`. `importlib.metadata` is the fallback, for example for
packages in a zip archive.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_METADATA: Final = (".dist-info", ".egg-info")


def entry_points(group: str, *, among: tuple[str, ...]) -> dict[str, str]:
    """Return the entry points of a group by name, as ``module:attribute``.

    If the folders on the path have none of the names in `among`, all distributions are searched.
    """
    values: dict[str, str] = {}
    for text in _read_entry_point_files():
        if f"[{group}]" in text:
            for name, value in _parse_section(text, group):
                values.setdefault(name, value)  # the first on the path takes precedence, as for modules
    if values.keys().isdisjoint(among):
        from importlib import metadata

        values = {point.name: point.value for point in metadata.entry_points(group=group)} | values
    return values


def load(value: str) -> Any:
    """Import the object of an entry point."""
    module, _, attribute = value.partition("[")[0].partition(":")
    target: Any = import_module(module.strip())
    for name in filter(None, attribute.strip().split(".")):
        target = getattr(target, name)
    return target


def _read_entry_point_files() -> Iterator[str]:
    """Yield each `entry_points.txt` of the distributions in the folders on the path."""
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:  # it does not exist, or is an archive
            continue
        for name in names:
            if name.endswith(_METADATA):
                try:
                    with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                        yield file.read()
                except (OSError, UnicodeDecodeError):  # most distributions have no such file
                    continue


def _parse_section(text: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of a section of an `entry_points.txt`."""
    in_section = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            in_section = line == f"[{group}]"
        elif in_section and line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()
