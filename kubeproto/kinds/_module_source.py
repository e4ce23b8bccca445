"""Modules of Structs as values, and their source code in the format of ruff."""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from ._python_names import camel_case

_WIDTH: Final = 110
_INDENT: Final = "    "


class BareName(str):
    """A value that is written without quotes."""

    __slots__ = ()


Value = str | bool | tuple[str, ...]


class SourceField(Struct, frozen=True, kw_only=True):
    """An attribute: `type` is its annotation without None, `value` its default, `factory` its default
    factory.

    `empty` replaces the null that a server may send for a required field.
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
        """Whether the attribute needs a `msgspec.field`."""
        return bool(self.factory) or camel_case(self.attribute) != self.wire


class Class(Struct, frozen=True, kw_only=True):
    """A class with its bases, class keywords and fields. Its repr conceals the fields in `secrets`."""

    name: str
    bases: tuple[str, ...]
    keywords: tuple[tuple[str, Value], ...] = ()
    doc: str = ""
    fields: tuple[SourceField, ...] = ()
    secrets: tuple[str, ...] = ()


class Module(Struct, frozen=True, kw_only=True):
    """A module: `imports` are groups of lines, separated by empty lines."""

    doc: str
    imports: tuple[tuple[str, ...], ...]
    classes: tuple[Class, ...]


def write(module: Module) -> str:
    """Return the source code of a module."""
    header_blocks = [f'"""{module.doc}"""', "from __future__ import annotations"]
    header_blocks += ["\n".join(group) for group in module.imports if group]
    names = sorted(class_.name for class_ in module.classes)
    header_blocks.append(_wrap("__all__ = [", [f'"{name}"' for name in names], "]"))
    return (
        "\n\n".join(header_blocks)
        + "".join(f"\n\n\n{_class_source(class_)}" for class_ in module.classes)
        + "\n"
    )


def names_in(types: Iterable[str]) -> set[str]:
    """Return the names in annotations."""
    return set(" ".join(types).replace("[", " ").replace("]", " ").replace(",", " ").split())


def import_line(module: str, names: Iterable[str]) -> str:
    """Return ``from module import names``, on several lines if it is too long."""
    line = f"from {module} import {', '.join(sorted(names))}"
    if len(line) <= _WIDTH:
        return line
    return _one_per_line(f"from {module} import (", sorted(names), ")")


def quoted(text: str) -> str:
    """Return a string literal in double quotes: a JSON string is also valid Python."""
    return msgspec.json.encode(text).decode()


def _class_source(class_: Class) -> str:
    keywords = [f"{name}={_keyword_source(name, value)}" for name, value in class_.keywords]
    head = _wrap(f"class {class_.name}(", [*class_.bases, *keywords], "):")
    body: list[str] = []
    if class_.doc:
        body += [f'{_INDENT}"""{class_.doc}"""', ""]
    body += [_field_source(field) for field in class_.fields]
    nullable = [field for field in class_.fields if field.empty]
    if nullable:
        # For type checkers, which see `Filled`, such a field is never None; hence `Any`.
        body += ["", f"{_INDENT}def __post_init__(self: Any) -> None:"]
    for field in nullable:
        body.append(f"{_INDENT * 2}if self.{field.attribute} is None:")
        body.append(f"{_INDENT * 3}self.{field.attribute} = {field.empty}")
    if class_.secrets:
        names = ", ".join(quoted(name) for name in class_.secrets)
        body += [
            "",
            f"{_INDENT}def __repr__(self) -> str:",
            f"{_INDENT * 2}return concealed_repr(self, {names})",
        ]
    while body and not body[-1]:
        body.pop()
    return "\n".join([head, *(body or [f"{_INDENT}pass"])])


def _keyword_source(name: str, value: Value) -> str:
    """Return the value of a class keyword; a long value is split into lines."""
    match value:
        case BareName():
            return value
        case str():
            return quoted(value)
        case bool():
            return repr(value)
        case (element,):
            return f"({quoted(element)},)"
        case _:
            parts = [quoted(part) for part in value]
            line = f"({', '.join(parts)})"
            if len(f"{_INDENT}{name}={line},") <= _WIDTH:
                return line
            return _one_per_line("(", [f"{_INDENT}{part}" for part in parts], f"{_INDENT})")


def _field_source(field: SourceField) -> str:
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
    if camel_case(field.attribute) != field.wire:
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


def _wrap(opening: str, parts: list[str], closing: str) -> str:
    """Return a single line, or the parts on a separate line, or a line for each part, as the width allows."""
    line = f"{opening}{', '.join(parts)}{closing}"
    if len(line) <= _WIDTH:
        return line
    inner = f"{_INDENT}{', '.join(parts)}"
    # ruff joins parts on a line only in parentheses, and keeps a line for each element of a list.
    if len(inner) <= _WIDTH and closing != "]":
        return f"{opening}\n{inner}\n{closing}"
    return _one_per_line(opening, parts, closing)


def _one_per_line(opening: str, parts: Iterable[str], closing: str) -> str:
    lines = "".join(f"{_INDENT}{part},\n" for part in parts)
    return f"{opening}\n{lines}{closing}"
