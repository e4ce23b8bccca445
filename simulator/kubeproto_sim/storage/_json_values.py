"""JSON values: their types, their parts, which may be missing, and their form in messages of Go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from kubeproto.objects import is_list, is_object, parse_time


def members(value: Any) -> dict[str, Any]:
    """Return the members of a map; none for anything else."""
    return value if is_object(value) else {}


def quoted(value: Any) -> str:
    """Return a string as Go's %q prints it; any other value as JSON."""
    return msgspec.json.encode(value).decode()


def go_list(values: Iterable[str]) -> str:
    """Return strings as Go's %q prints a list of them."""
    return f"[{' '.join(map(quoted, values))}]"


def go_text(value: Any) -> str:
    """Return a value inside a server's message: maps as ``map[a:1 b:2]``, lists as ``[1 2]``."""
    if is_object(value):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if is_list(value):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else quoted(value)


def go_type(value: Any) -> str:
    """Return the type of a value as Go names it."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case dict():
            return "map[string]interface {}"
        case _:
            return "<nil>"


def go_source(value: Any) -> str:
    """Return a value as a line of Go."""
    if is_object(value):
        members = (f"{go_source(key)}:{go_source(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(members)}}}"
    if is_list(value):
        return f"[]interface {{}}{{{', '.join(map(go_source, value))}}}"
    return "interface {}(nil)" if value is None else quoted(value)


def go_kind(value: Any) -> str:
    """Return the name of the type of a JSON value, as Go's decoder names it."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"


def seconds_of(time: str) -> float:
    """Return a time of an object as seconds since 1970."""
    seconds: float = parse_time(time).timestamp()
    return seconds


def member(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object under a name; an empty object if there is none."""
    value = obj.get(name)
    return value if is_object(value) else {}


def objects_in(obj: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of objects under a name."""
    value = obj.get(name)
    return value if is_list(value) else []


def strings_in(obj: dict[str, Any], name: str) -> list[str]:
    """Return the list of strings under a name."""
    value = obj.get(name)
    return value if is_list(value) else []
