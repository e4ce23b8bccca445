"""JSON values: their types, their parts, which may be missing, and their form in messages of Go."""

from __future__ import annotations

from typing import Any, TypeGuard

import msgspec

from kubeproto.objects import parse_time


def is_map(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether this is a JSON object, which Go calls a map."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Return whether this is a JSON list."""
    return isinstance(value, list)


def copied(value: Any) -> Any:
    """Return a copy that shares no map and no list with the value."""
    if is_map(value):
        return {key: copied(member) for key, member in value.items()}
    if is_list(value):
        return [copied(element) for element in value]
    return value


def members(value: Any) -> dict[str, Any]:
    """Return the members of a map; none for anything else."""
    return value if is_map(value) else {}


def go_text(value: Any) -> str:
    """Return a value inside a server's message: maps as ``map[a:1 b:2]``, lists as ``[1 2]``."""
    if is_map(value):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if is_list(value):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


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
    if is_map(value):
        members = (f"{go_source(key)}:{go_source(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(members)}}}"
    if is_list(value):
        return f"[]interface {{}}{{{', '.join(map(go_source, value))}}}"
    return "interface {}(nil)" if value is None else msgspec.json.encode(value).decode()


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
    """Return the object under a name."""
    value = obj.get(name)
    return value if is_map(value) else {}


def listed(obj: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of objects under a name."""
    value = obj.get(name)
    return value if is_list(value) else []


def texts(obj: dict[str, Any], name: str) -> list[str]:
    """Return the list of strings under a name."""
    value = obj.get(name)
    return value if is_list(value) else []
