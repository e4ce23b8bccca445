"""The public names that users need: those that a page or an example shows, and those in their signatures.

A name is shown if it occurs as code in README, in a page or in an example. A needed name needs the public
names in the signatures of its public methods and in the annotations of its fields, because users annotate
with them.
"""

from __future__ import annotations

import ast
import importlib
import re
import types
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from test_one_name import of_a_machine
from test_public_names import MODULES, ROOT

# Every name of these packages is for users who meet it in a first program.
FIRST_LEVEL: Final = ("kubeproto", "kubeproto_runtime")
_CODE: Final = r"^```.*?^```|`[^`\n]+`"
_CALLED: Final = ("__init__", "__new__", "__call__", "__enter__", "__aenter__", "__getitem__", "__iter__")


@cache
def public_names() -> dict[str, list[str]]:
    """Return the modules of each public name, without machines, generated kinds and the simulator."""
    names: dict[str, list[str]] = {}
    for module in MODULES:
        if not (
            of_a_machine(module)
            or module.startswith(("kubeproto.kinds.", "kubeproto_sim", "kubeproto_serve"))
        ):
            for name in getattr(importlib.import_module(module), "__all__", ()):
                names.setdefault(name, []).append(module)
    return names


@cache
def shown_words() -> frozenset[str]:
    """Return the words of all code in README, pages, examples and templates."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    code = [
        block
        for page in pages
        if not {"decisions", "explanation"} & {*page.parts}  # these describe the implementation
        for block in re.findall(_CODE, page.read_text(), re.DOTALL | re.MULTILINE)
    ]
    code += [path.read_text() for path in (ROOT / "examples").rglob("*.py")]
    code += [path.read_text() for path in (ROOT / "runtime").rglob("*.template")]
    return frozenset(re.findall(r"\w+", "\n".join(code)))


def needed_names() -> set[str]:
    """Return the shown names, and all public names that their signatures contain."""
    public = public_names()
    needed = {name for name in public if name in shown_words() or is_error(name)}
    needed |= {name for level in FIRST_LEVEL for name in importlib.import_module(level).__all__}
    unread = set(needed)
    while unread:
        used = {used for name in unread for used in names_in_signatures(name) if used in public}
        unread = used - needed
        needed |= used
    return needed


def is_error(name: str) -> bool:
    """Return whether a name is an exception, which users may catch."""
    return any(
        isinstance(value := getattr(importlib.import_module(module), name), type)
        and issubclass(value, Exception)
        for module in public_names()[name]
    )


def names_in_signatures(name: str) -> Iterator[str]:
    """Yield the words in the signatures and annotations of a public name, and the members of a union."""
    for module in public_names().get(name, ()):
        value = getattr(importlib.import_module(module), name)
        if isinstance(value, types.UnionType) or typing.get_origin(value) is not None:
            yield from re.findall(r"\w+", str(value))
        for part in value.__mro__ if isinstance(value, type) else (value,):
            definition = _definitions(getattr(part, "__module__", "")).get(getattr(part, "__name__", ""))
            if definition is not None:
                yield from _words_of_annotations(definition)


@cache
def _definitions(module: str) -> dict[str, Any]:
    file = (
        getattr(importlib.import_module(module), "__file__", None) if module.startswith("kubeproto") else None
    )
    if file is None:
        return {}
    return {
        node.name: node
        for node in ast.parse(Path(file).read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _words_of_annotations(definition: ast.AST) -> Iterator[str]:
    annotations: list[ast.expr | None] = []
    for node in ast.walk(definition):
        match node:
            case ast.FunctionDef(name=name, args=arguments) | ast.AsyncFunctionDef(name=name, args=arguments):
                if not name.startswith("_") or name in _CALLED:
                    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                    every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
                    annotations += [argument.annotation for argument in every] + [node.returns]
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if not name.startswith("_"):
                annotations.append(annotation)
            case ast.ClassDef(bases=bases):
                annotations += bases
            case _:
                pass
    for written in annotations:
        if written is not None:
            yield from re.findall(r"\w+", ast.unparse(written))
