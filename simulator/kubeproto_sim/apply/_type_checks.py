"""What an applied object may not contain: undeclared fields, values of wrong types, duplicate elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..storage._json_values import go_source, go_text, go_type, is_list, is_map
from ._list_elements import Unidentified, step_of
from ._merge_schemas import Facts
from .fieldsets import Path, field_step, format_path


def misfits(value: Any, facts: Facts) -> str:
    """Return what does not fit the schema, as a server words it; empty if all does."""
    found = [f"{format_path(path)}: {what}" if path else what for path, what in _misfits(value, facts, ())]
    if len(found) < 2:
        return "".join(found)
    return "\n".join(["errors:", *(f"  {line}" for line in found)])


def _misfits(value: Any, facts: Facts, path: Path) -> Iterator[tuple[Path, str]]:
    if value is None or facts.shape == "any":
        return
    match facts.shape:
        case "map" if is_map(value):
            yield from _members(value, facts, path)
        case "list" if is_list(value):
            yield from _elements(value, facts, path)
        case "map" | "list":
            yield path, f"expected {facts.shape}, got &{{{go_text(value)}}}"
        case _:
            if wrong := _wrong_scalar(value, facts.scalar):
                yield path, wrong


def _members(value: dict[str, Any], facts: Facts, path: Path) -> Iterator[tuple[Path, str]]:
    for name, held in value.items():
        here = (*path, field_step(name))
        below = facts.member(name)
        if below is None:
            yield here, "field not declared in schema"
            return  # a server looks no further into this object
        yield from _misfits(held, below, here)


def _elements(value: list[Any], facts: Facts, path: Path) -> Iterator[tuple[Path, str]]:
    seen: set[str] = set()
    for index, element in enumerate(value):
        here = (*path, f"i:{index}")
        if not facts.atomic:
            try:
                step = step_of(element, facts)
            except Unidentified as error:
                yield path, f"element {index}: {error}"
                return
            here = (*path, step)
            if step in seen:
                yield path, f"duplicate entries for key {format_path((step,))}"
            seen.add(step)
        yield from _misfits(element, facts.element, here)


def _wrong_scalar(value: Any, scalar: str) -> str:
    """Return what a server says of another scalar than it expects, or of something else; empty if it fits."""
    match scalar:
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{go_source(value)}}}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_text(value)}}}"
        case "numeric" if isinstance(value, bool) or not isinstance(value, int | float):
            return f"expected numeric (int or float), got {go_type(value)}"
        case _ if is_map(value) or is_list(value):
            return f"expected any scalar, got &{{{go_text(value)}}}"
        case _:
            return ""
