"""``MODULE:NAME`` on the command line: an object of a program."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click


def load_object(reference: str) -> Any:
    """Import the object that ``package.module:name`` or ``folder/file.py:name`` names.

    Modules are looked for in the current folder first, those of a file in its folder: as Python does when it
    runs the program.
    """
    place, colon, name = reference.rpartition(":")
    if not colon or not place or not name.isidentifier():
        raise click.UsageError(
            f"{reference!r} names no object: expected MODULE:NAME, such as books.operator:main"
        )
    module = _module_of(place)
    if not _is_there(module):
        raise click.UsageError(f"there is no module {module} here; sys.path begins with {sys.path[0]}")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{module} cannot be imported: there is no module {error.name}") from error
    if not hasattr(found, name):
        names = [one for one, value in vars(found).items() if callable(value) and not one.startswith("_")]
        own = [one for one in names if getattr(vars(found)[one], "__module__", "") == module]
        raise click.UsageError(f"{module} has no {name}; it defines {', '.join(sorted(own)) or 'nothing'}")
    return getattr(found, name)


def _module_of(place: str) -> str:
    if place.endswith(".py"):
        path = Path(place)
        sys.path.insert(0, str(path.parent.resolve()))
        return path.stem
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    return place


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False
