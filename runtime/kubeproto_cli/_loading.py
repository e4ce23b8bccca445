"""Importing an object of a program, which the command line names as ``MODULE:NAME``."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


def load_object(reference: str) -> Any:
    """Import the object of ``package.module:name`` or ``folder/file.py:name``.

    As when Python runs the program, modules are imported from the current folder first, or from the folder of
    the file.
    """
    path, colon, name = reference.rpartition(":")
    if not colon or not path or not name.isidentifier():
        raise click.UsageError(f"{reference!r} is not MODULE:NAME, such as books.operator:main")
    module_name = _importable_name(path)
    if not _exists(module_name):
        raise click.UsageError(f"there is no module {module_name} here; sys.path begins with {sys.path[0]}")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{module_name} cannot be imported: there is no module {error.name}"
        ) from error
    if not hasattr(module, name):
        functions = [
            attribute
            for attribute, value in vars(module).items()
            if callable(value)
            and not attribute.startswith("_")
            and getattr(value, "__module__", "") == module_name
        ]
        raise click.UsageError(
            f"{module_name} has no {name}; it defines {', '.join(sorted(functions)) or 'nothing'}"
        )
    return getattr(module, name)


def load_operator_function(reference: str) -> Callable[..., Any]:
    """Import the function that takes a client and returns an operator."""
    function: Any = load_object(reference)
    if not callable(function) or iscoroutinefunction(function):
        raise click.UsageError(
            "OPERATOR must be a function that takes a client and returns an operator; it must not be async"
        )
    operator_function: Callable[..., Any] = function
    return operator_function


def _importable_name(path: str) -> str:
    """Return the name of a module or file, and make its folder importable."""
    if path.endswith(".py"):
        file = Path(path)
        sys.path.insert(0, str(file.parent.resolve()))
        return file.stem
    if (folder := os.getcwd()) not in sys.path:
        sys.path.insert(0, folder)
    return path


def _exists(module_name: str) -> bool:
    try:
        return find_spec(module_name) is not None
    except ModuleNotFoundError:  # its package is missing
        return False
