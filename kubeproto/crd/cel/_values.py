"""What a CEL rule sees of a value: the fields that its schema types, with dates, durations and bytes as such.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...objects import is_list, is_object

_RESERVED: Final = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
))  # fmt: skip
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_DATES: Final = {"date", "date-time", "datetime", "duration"}


class Dated(msgspec.Struct, frozen=True):
    """A string that CEL is to read as a timestamp or a duration."""

    function: str
    text: str


def escape(name: str) -> str | None:
    """Return a property's name in CEL; None for one that no rule can name."""
    if not _NAME.fullmatch(name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda found: _ESCAPES[found[0]], name)


def visible(schema: dict[str, Any], value: Any, *, root: bool = False) -> Any:
    """Return the value as rules see it; what the schema does not type is missing."""
    if value is None:
        return None
    if is_object(value):
        return _visible_members(schema, value, root)
    if is_list(value):
        items = schema.get("items", {})
        return [visible(items, element) for element in value] if is_typed(items) else []
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and (schema.get("type") == "number" or not is_int64(value))
    ):
        return float(value)
    if isinstance(value, str):
        return _visible_text(schema.get("format", ""), value)
    return value


def _visible_text(format_: str, text: str) -> Any:
    match format_:
        case "byte":
            return msgspec.convert(text, bytes)
        case "date":
            return Dated("timestamp", f"{text}T00:00:00Z")
        case "date-time" | "datetime":
            return Dated("timestamp", text)
        case "duration":
            return Dated("duration", text)
        case _:
            return text


def _visible_members(schema: dict[str, Any], value: dict[str, Any], root: bool) -> dict[str, Any]:
    known: dict[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    seen: dict[str, Any] = {}
    if root or schema.get("x-kubernetes-embedded-resource"):
        seen = {name: value[name] for name in ("apiVersion", "kind") if name in value}
        metadata = value.get("metadata")
        if is_object(metadata):
            seen["metadata"] = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
    for name, below in value.items():
        if name in seen:
            continue
        if name in known:
            # To `has` a null is a field that is not set.
            if below is not None and is_typed(known[name]) and (escaped := escape(name)) is not None:
                seen[escaped] = visible(known[name], below)
        elif is_object(others):
            seen[name] = visible(others, below)
    return seen


def is_typed(schema: dict[str, Any]) -> bool:
    """Return whether rules can see values of this schema."""
    return "type" in schema or bool(schema.get("x-kubernetes-int-or-string"))


def literal(value: Any) -> str:
    """Return a visible value as CEL source."""
    if isinstance(value, Dated):
        return f"{value.function}({_quoted(value.text)})"
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
    if is_object(value):
        return "{" + ", ".join(f"{_quoted(name)}: {literal(one)}" for name, one in value.items()) + "}"
    if is_list(value):
        return "[" + ", ".join(map(literal, value)) + "]"
    return _quoted(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _quoted(text: str) -> str:
    # Everything but plain letters as \u: no quote or line end of any kind can end the literal.
    return (
        '"' + "".join(one if one.isalnum() and one.isascii() else f"\\U{ord(one):08x}" for one in text) + '"'
    )


def holds_dates(schema: Any) -> bool:
    """Return whether any value below may be a timestamp or a duration, which only CEL source can carry."""
    return _any(schema, _is_date)


def holds_associative_lists(schema: Any) -> bool:
    """Return whether any list below is a set or map, for which CEL's `==` and `+` mean something else."""
    return _any(schema, _is_associative)


def holds_map_lists(schema: Any) -> bool:
    """Return whether any list below is a map, whose elements are matched by their keys."""
    return _any(schema, lambda one: one.get("x-kubernetes-list-type") == "map")


def _is_date(schema: dict[str, Any]) -> bool:
    return schema.get("format") in _DATES and schema.get("type") == "string"


def _is_associative(schema: dict[str, Any]) -> bool:
    return schema.get("x-kubernetes-list-type") in ("set", "map")


def _any(schema: Any, fits: Callable[[dict[str, Any]], bool]) -> bool:
    if not is_object(schema):
        return False
    below = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    return fits(schema) or any(_any(one, fits) for one in below)


def holds_float_for_integer(schema: Any, value: Any) -> bool:
    """Return whether a number is not an int64 although its schema says integer: rules cannot read ``5.0``."""
    if not is_object(schema):
        return False
    if is_object(value):
        known: dict[str, Any] = schema.get("properties", {})
        others = schema.get("additionalProperties")
        return any(holds_float_for_integer(known.get(name, others), one) for name, one in value.items())
    if is_list(value):
        return any(holds_float_for_integer(schema.get("items"), one) for one in value)
    return schema.get("type") == "integer" and not is_int64(value)


def is_int64(value: Any) -> bool:
    """Return whether a server reads this number as an integer: it has no point and is not too large."""
    return not isinstance(value, float) and not (isinstance(value, int) and not -(1 << 63) <= value < 1 << 63)
