"""Which transports are installed: the entry points of one group, found in a few milliseconds.

`importlib.metadata` costs 20 ms to import, half of it a parser of mail headers, and then reads the metadata
of each distribution: a command line would pay for that at each start. Here the files `entry_points.txt` of
the folders on `sys.path` are read and nothing else; `importlib.metadata` finds what is installed in another
way, for example in a zip archive.
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

    If the folders on the path have none of the names in `among`, everything that is installed is looked at.
    """
    found: dict[str, str] = {}
    for text in _texts():
        if f"[{group}]" in text:
            for name, value in _section(text, group):
                found.setdefault(name, value)  # as for modules, the first on the path counts
    if found.keys().isdisjoint(among):
        from importlib import metadata

        found = {point.name: point.value for point in metadata.entry_points(group=group)} | found
    return found


def load(value: str) -> Any:
    """Import what an entry point names."""
    module, _, attribute = value.partition("[")[0].partition(":")
    loaded: Any = import_module(module.strip())
    for name in filter(None, attribute.strip().split(".")):
        loaded = getattr(loaded, name)
    return loaded


def _texts() -> Iterator[str]:
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
                except (OSError, UnicodeDecodeError):  # most have none
                    continue


def _section(text: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of one section of such a file."""
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()
