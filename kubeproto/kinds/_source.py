"""Modules of Structs as values, and the Python that they are written as, in the form that ruff gives it."""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from ._names import camel

_WIDTH: Final = 110
_INDENT: Final = "    "


class Name(str):
    """A value that is written as it stands."""

    __slots__ = ()


Value = str | bool | tuple[str, ...]


class SourceField(Struct, frozen=True, kw_only=True):
    """An attribute: `type` is its annotation without None, `value` its default or `factory` what makes it.

    `empty` is what stands for the null that a server may send where the field is required.
    """

    attribute: str
    wire: str
    type: str
    required: bool = False
    value: str = ""
    factory: str = ""
    empty: str = ""

    @property
    def explicit(self) -> bool:
        """True if the attribute needs a `msgspec.field` to say what it is."""
        return bool(self.factory) or camel(self.attribute) != self.wire


class Class(Struct, frozen=True, kw_only=True):
    """A class with its bases, class keywords and fields. What is in `secrets` its repr does not show."""

    name: str
    bases: tuple[str, ...]
    keywords: tuple[tuple[str, Value], ...] = ()
    doc: str = ""
    fields: tuple[SourceField, ...] = ()
    secrets: tuple[str, ...] = ()


class Module(Struct, frozen=True, kw_only=True):
    """A module: `imports` are lines of one group each, an empty line between the groups."""

    doc: str
    imports: tuple[tuple[str, ...], ...]
    classes: tuple[Class, ...]


def write(module: Module) -> str:
    """The module as Python text."""
    heads = [f'"""{module.doc}"""', "from __future__ import annotations"]
    heads += ["\n".join(group) for group in module.imports if group]
    names = sorted(made.name for made in module.classes)
    heads.append(_wrapped("__all__ = [", [f'"{name}"' for name in names], "]"))
    return "\n\n".join(heads) + "".join(f"\n\n\n{_class(made)}" for made in module.classes) + "\n"


def words_of(types: Iterable[str]) -> set[str]:
    """The names that stand in annotations."""
    return set(" ".join(types).replace("[", " ").replace("]", " ").replace(",", " ").split())


def import_line(module: str, names: Iterable[str]) -> str:
    """``from module import names``, over several lines where it is long."""
    line = f"from {module} import {', '.join(sorted(names))}"
    if len(line) <= _WIDTH:
        return line
    return _listed(f"from {module} import (", sorted(names), ")")


def quoted(text: str) -> str:
    """A string literal in double quotes: JSON's are Python's too."""
    return msgspec.json.encode(text).decode()


def _class(made: Class) -> str:
    keywords = [f"{name}={_value(name, value)}" for name, value in made.keywords]
    head = _wrapped(f"class {made.name}(", [*made.bases, *keywords], "):")
    body: list[str] = []
    if made.doc:
        body += [f'{_INDENT}"""{made.doc}"""', ""]
    body += [_field(field) for field in made.fields]
    nullable = [field for field in made.fields if field.empty]
    if nullable:
        # To the checkers, who look at `Filled`, such a field is never None; hence `Any`.
        body += ["", f"{_INDENT}def __post_init__(self: Any) -> None:"]
    for field in nullable:
        body.append(f"{_INDENT * 2}if self.{field.attribute} is None:")
        body.append(f"{_INDENT * 3}self.{field.attribute} = {field.empty}")
    if made.secrets:
        names = ", ".join(quoted(name) for name in made.secrets)
        body += ["", f"{_INDENT}def __repr__(self) -> str:", f"{_INDENT * 2}return veiled(self, {names})"]
    while body and not body[-1]:
        body.pop()
    return "\n".join([head, *(body or [f"{_INDENT}pass"])])


def _value(name: str, value: Value) -> str:
    """A class keyword's value, which begins behind its name in a line of its own if it is long."""
    match value:
        case Name():
            return value
        case str():
            return quoted(value)
        case bool():
            return repr(value)
        case (only,):
            return f"({quoted(only)},)"
        case _:
            parts = [quoted(part) for part in value]
            line = f"({', '.join(parts)})"
            if len(f"{_INDENT}{name}={line},") <= _WIDTH:
                return line
            return _listed("(", [f"{_INDENT}{part}" for part in parts], f"{_INDENT})")


def _field(field: SourceField) -> str:
    arguments: list[str] = []
    type_ = field.type
    if field.factory:
        arguments.append(f"default_factory={field.factory}")
    elif field.value:
        arguments.append(f"default={field.value}")
    elif field.empty:
        type_ = f"Filled[{type_}]"
    elif not field.required:
        arguments.append("default=None")
        type_ = type_ if type_ == "Any" else f"{type_} | None"
    if camel(field.attribute) != field.wire:
        arguments.append(f"name={quoted(field.wire)}")
    head = f"{_INDENT}{field.attribute}: {type_}"
    if not arguments:
        return head
    if len(arguments) == 1 and arguments[0].startswith("default="):
        return f"{head} = {arguments[0].removeprefix('default=')}"
    line = f"{head} = msgspec.field({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return f"{head} = msgspec.field(\n{_INDENT * 2}{', '.join(arguments)}\n{_INDENT})"


def _wrapped(opening: str, parts: list[str], closing: str) -> str:
    """One line, or the parts on a line of their own, or a line each: the first that is short enough."""
    line = f"{opening}{', '.join(parts)}{closing}"
    if len(line) <= _WIDTH:
        return line
    inner = f"{_INDENT}{', '.join(parts)}"
    # A list keeps a line each; ruff gathers only what stands in parentheses.
    if len(inner) <= _WIDTH and closing != "]":
        return f"{opening}\n{inner}\n{closing}"
    return _listed(opening, parts, closing)


def _listed(opening: str, parts: Iterable[str], closing: str) -> str:
    lines = "".join(f"{_INDENT}{part},\n" for part in parts)
    return f"{opening}\n{lines}{closing}"
