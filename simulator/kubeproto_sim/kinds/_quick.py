"""A fast check for custom resources: an object that fits a type made from its schema needs no other.

Most objects that are written fit their schema, hold every field that has a default, no null and nothing
unknown. msgspec finds that out in a microsecond or two, where the engine of `crd` takes a hundred. Only
schemas with nothing beyond types, bounds, enums and required fields have such a type; an object that does
not fit it is not necessarily wrong: it goes to the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

_SAYS_NOTHING: Final = frozenset(("type", "description", "title", "example", "default", "nullable"))
_BOUNDS: Final = {
    "minimum": "ge", "maximum": "le", "minLength": "min_length", "maxLength": "max_length",
    "minItems": "min_length", "maxItems": "max_length",
}  # fmt: skip
# Every value of the type has these formats; for others the engine has rules.
_FREE_FORMATS: Final = ("", "int32", "int64", "float", "double")


class _Unfit(Exception):
    """The schema has more than a type can express."""


def quick_check(schema: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """Return a function that is True for objects that certainly are pruned, defaulted and valid."""
    try:
        members = {
            name: below
            for name, below in schema.get("properties", {}).items()
            if name not in ("apiVersion", "kind", "metadata")
        }
        identity: list[tuple[str, Any]] = [("apiVersion", str), ("kind", str), ("metadata", dict[str, Any])]
        kind: Any = _struct(schema | {"properties": members}, identity)
    except _Unfit:
        return _never

    def fits(obj: dict[str, Any]) -> bool:
        try:
            msgspec.convert(obj, kind)
        except msgspec.ValidationError:
            return False
        return True

    return fits


def _never(_: dict[str, Any]) -> bool:
    return False


def _type(schema: dict[str, Any]) -> Any:
    said = schema.keys() - _SAYS_NOTHING
    if schema.get("format", "") not in _FREE_FORMATS:
        raise _Unfit
    said = said - {"format"}
    if "enum" in schema:
        return _enum(schema, said)
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _struct(schema)
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            _only(said, {"additionalProperties"})
            values: Any = _type(schema["additionalProperties"])
            return dict[str, values]
        case "array" if "items" in schema:
            _only(said, {"items", "minItems", "maxItems"})
            items: Any = _type(schema["items"])
            return _bounded(list[items], schema, said)
        case "string":
            _only(said, {"minLength", "maxLength"})
            return _bounded(str, schema, said)
        case "integer":
            _only(said, {"minimum", "maximum"})
            return _bounded(int, schema, said)
        case "boolean":
            _only(said, set())
            return bool
        case _:
            raise _Unfit


def _struct(schema: dict[str, Any], identity: list[tuple[str, Any]] | None = None) -> Any:
    _only(schema.keys() - _SAYS_NOTHING, {"properties", "required"})
    required = frozenset(schema.get("required", ()))
    fields: list[Any] = [
        (f"i{at}", kind, msgspec.field(name=name)) for at, (name, kind) in enumerate(identity or ())
    ]
    for at, (name, below) in enumerate(schema["properties"].items()):
        kind = _type(below)
        # A default that is missing has to be filled in, which is the engine's work.
        if name in required or below.get("default") is not None:
            fields.append((f"f{at}", kind, msgspec.field(name=name)))
        else:
            fields.append((f"f{at}", kind | UnsetType, msgspec.field(name=name, default=UNSET)))
    return msgspec.defstruct("Quick", fields, kw_only=True, forbid_unknown_fields=True)


def _enum(schema: dict[str, Any], said: set[str]) -> Any:
    _only(said, {"enum"})
    values = tuple(schema["enum"])
    if schema.get("type") != "string" or not all(isinstance(value, str) for value in values):
        raise _Unfit
    return Literal[values]


def _bounded(kind: Any, schema: dict[str, Any], said: set[str]) -> Any:
    bounds = {_BOUNDS[name]: schema[name] for name in said if name in _BOUNDS}
    return Annotated[kind, Meta(**bounds)] if bounds else kind


def _only(said: set[str], allowed: set[str]) -> None:
    if said - allowed:
        raise _Unfit
