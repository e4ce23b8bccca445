"""Checks of an applied object: no undeclared fields, values of wrong types or duplicate elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubeproto.objects import is_list, is_object

from ..storage._json_values import go_source, go_text, go_type
from ._list_elements import UnidentifiedElement, step_of
from ._merge_schemas import MergeSchema
from .fieldsets import Path, field_step, format_path


def misfits(value: Any, schema: MergeSchema) -> str:
    """Return the message of a server for values that do not fit the schema; empty if all fit."""
    messages = [
        f"{format_path(path)}: {message}" if path else message
        for path, message in _misfits(value, schema, ())
    ]
    if len(messages) < 2:
        return "".join(messages)
    return "\n".join(["errors:", *(f"  {line}" for line in messages)])


def _misfits(value: Any, schema: MergeSchema, path: Path) -> Iterator[tuple[Path, str]]:
    if value is None or schema.shape == "any":
        return
    match schema.shape:
        case "map" if is_object(value):
            yield from _members(value, schema, path)
        case "list" if is_list(value):
            yield from _elements(value, schema, path)
        case "map" | "list":
            yield path, f"expected {schema.shape}, got &{{{go_text(value)}}}"
        case _:
            if wrong := _scalar_error(value, schema.scalar):
                yield path, wrong


def _members(value: dict[str, Any], schema: MergeSchema, path: Path) -> Iterator[tuple[Path, str]]:
    for name, member in value.items():
        member_path = (*path, field_step(name))
        member_schema = schema.member(name)
        if member_schema is None:
            yield member_path, "field not declared in schema"
            return  # a server does not check the other members
        yield from _misfits(member, member_schema, member_path)


def _elements(value: list[Any], schema: MergeSchema, path: Path) -> Iterator[tuple[Path, str]]:
    steps: set[str] = set()
    for index, element in enumerate(value):
        element_path = (*path, f"i:{index}")
        if not schema.atomic:
            try:
                step = step_of(element, schema)
            except UnidentifiedElement as error:
                yield path, f"element {index}: {error}"
                return
            element_path = (*path, step)
            if step in steps:
                yield path, f"duplicate entries for key {format_path((step,))}"
            steps.add(step)
        yield from _misfits(element, schema.element, element_path)


def _scalar_error(value: Any, scalar: str) -> str:
    """Return the message of a server for a value that is not the expected scalar; empty if it is."""
    match scalar:
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{go_source(value)}}}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_text(value)}}}"
        case "numeric" if isinstance(value, bool) or not isinstance(value, int | float):
            return f"expected numeric (int or float), got {go_type(value)}"
        case _ if is_object(value) or is_list(value):
            return f"expected any scalar, got &{{{go_text(value)}}}"
        case _:
            return ""
