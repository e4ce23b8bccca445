"""Values as CEL rules see them: without untyped fields; dates, durations and bytes have their CEL types.

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
_TIME_FORMATS: Final = {"date", "date-time", "datetime", "duration"}


class TimeValue(msgspec.Struct, frozen=True):
    """A string that CEL reads as a timestamp or a duration."""

    function: str
    text: str


def escape_name(name: str) -> str | None:
    """Return the name of a property in CEL; None if no rule can name it."""
    if not _NAME.fullmatch(name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda match: _ESCAPES[match[0]], name)


def rule_value(schema: dict[str, Any], value: Any, *, root: bool = False) -> Any:
    """Return the value as rules see it, without fields whose schema has no type."""
    if value is None:
        return None
    if is_object(value):
        return _rule_object(schema, value, root)
    if is_list(value):
        items = schema.get("items", {})
        return [rule_value(items, element) for element in value] if is_typed(items) else []
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and (schema.get("type") == "number" or not is_int64(value))
    ):
        return float(value)
    if isinstance(value, str):
        return _rule_string(schema.get("format", ""), value)
    return value


def _rule_string(format_: str, text: str) -> Any:
    match format_:
        case "byte":
            return msgspec.convert(text, bytes)
        case "date":
            return TimeValue("timestamp", f"{text}T00:00:00Z")
        case "date-time" | "datetime":
            return TimeValue("timestamp", text)
        case "duration":
            return TimeValue("duration", text)
        case _:
            return text


def _rule_object(schema: dict[str, Any], value: dict[str, Any], root: bool) -> dict[str, Any]:
    properties: dict[str, Any] = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    members: dict[str, Any] = {}
    if root or schema.get("x-kubernetes-embedded-resource"):
        members = {name: value[name] for name in ("apiVersion", "kind") if name in value}
        metadata = value.get("metadata")
        if is_object(metadata):
            members["metadata"] = {
                name: metadata[name] for name in ("name", "generateName") if name in metadata
            }
    for name, member in value.items():
        if name in members:
            continue
        if name in properties:
            property_ = properties[name]
            # To `has` a null is a field that is not set.
            if member is not None and is_typed(property_) and (escaped := escape_name(name)) is not None:
                members[escaped] = rule_value(property_, member)
        elif is_object(additional):
            members[name] = rule_value(additional, member)
    return members


def is_typed(schema: dict[str, Any]) -> bool:
    """Return whether rules can see values of this schema."""
    return "type" in schema or bool(schema.get("x-kubernetes-int-or-string"))


def write_literal(value: Any) -> str:
    """Return the value of a rule as CEL source."""
    if isinstance(value, TimeValue):
        return f"{value.function}({_quote(value.text)})"
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
    if is_object(value):
        return (
            "{"
            + ", ".join(f"{_quote(name)}: {write_literal(member)}" for name, member in value.items())
            + "}"
        )
    if is_list(value):
        return "[" + ", ".join(map(write_literal, value)) + "]"
    return _quote(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _quote(text: str) -> str:
    # Every character but ASCII letters and digits is escaped: no quote or line end can end the literal.
    escaped = (char if char.isalnum() and char.isascii() else f"\\U{ord(char):08x}" for char in text)
    return f'"{"".join(escaped)}"'


def has_times(schema: Any) -> bool:
    """Return whether a value may contain a timestamp or a duration, which only CEL source can carry."""
    return _any_schema(schema, _is_time)


def has_associative_lists(schema: Any) -> bool:
    """Return whether a value contains lists of the types set and map, which change `==` and `+`."""
    return _any_schema(schema, _is_associative)


def has_map_lists(schema: Any) -> bool:
    """Return whether a value contains lists of type map, whose elements are matched by their keys."""
    return _any_schema(schema, lambda nested: nested.get("x-kubernetes-list-type") == "map")


def _is_time(schema: dict[str, Any]) -> bool:
    return schema.get("format") in _TIME_FORMATS and schema.get("type") == "string"


def _is_associative(schema: dict[str, Any]) -> bool:
    return schema.get("x-kubernetes-list-type") in ("set", "map")


def _any_schema(schema: Any, matches: Callable[[dict[str, Any]], bool]) -> bool:
    """Return whether a schema, or a schema nested in it, matches."""
    if not is_object(schema):
        return False
    nested = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    return matches(schema) or any(_any_schema(nested_schema, matches) for nested_schema in nested)


def has_float_for_integer(schema: Any, value: Any) -> bool:
    """Return whether a number is not an int64 although its type is integer: rules cannot read ``5.0``."""
    if not is_object(schema):
        return False
    if is_object(value):
        properties: dict[str, Any] = schema.get("properties", {})
        additional = schema.get("additionalProperties")
        return any(
            has_float_for_integer(properties.get(name, additional), member) for name, member in value.items()
        )
    if is_list(value):
        return any(has_float_for_integer(schema.get("items"), element) for element in value)
    return schema.get("type") == "integer" and not is_int64(value)


def is_int64(value: Any) -> bool:
    """Return whether a server reads this number as an integer: it has no fraction and fits into 64 bits."""
    return not isinstance(value, float) and not (isinstance(value, int) and not -(1 << 63) <= value < 1 << 63)
