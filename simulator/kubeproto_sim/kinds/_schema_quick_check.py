"""A fast check for custom resources: an object that fits a msgspec type of its schema is valid.

Most written objects satisfy their schema and have all fields with defaults, no null and no unknown field.
msgspec detects that in two microseconds, where the engine of `crd` takes a hundred. Only schemas of
types, bounds, enums and required fields have such a type. An object that does not fit may be valid all the
same: the engine decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

_IGNORED_KEYWORDS: Final = frozenset(("type", "description", "title", "example", "default", "nullable"))
_BOUNDS: Final = {
    "minimum": "ge", "maximum": "le", "minLength": "min_length", "maxLength": "max_length",
    "minItems": "min_length", "maxItems": "max_length",
}  # fmt: skip
# Every value of the type has these formats; the engine checks other formats.
_FREE_FORMATS: Final = ("", "int32", "int64", "float", "double")


class _Inexpressible(Exception):
    """A schema has constraints that no type expresses."""


def quick_check(schema: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """Return a predicate that is True only for pruned, defaulted and valid objects."""
    try:
        members = {
            name: member_schema
            for name, member_schema in schema.get("properties", {}).items()
            if name not in ("apiVersion", "kind", "metadata")
        }
        identity: list[tuple[str, Any]] = [("apiVersion", str), ("kind", str), ("metadata", dict[str, Any])]
        kind: Any = _struct(schema | {"properties": members}, identity)
    except _Inexpressible:
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
    constraints = schema.keys() - _IGNORED_KEYWORDS
    if schema.get("format", "") not in _FREE_FORMATS:
        raise _Inexpressible
    constraints = constraints - {"format"}
    if "enum" in schema:
        return _enum(schema, constraints)
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _struct(schema)
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            _require_only(constraints, {"additionalProperties"})
            values: Any = _type(schema["additionalProperties"])
            return dict[str, values]
        case "array" if "items" in schema:
            _require_only(constraints, {"items", "minItems", "maxItems"})
            items: Any = _type(schema["items"])
            return _bounded(list[items], schema, constraints)
        case "string":
            _require_only(constraints, {"minLength", "maxLength"})
            return _bounded(str, schema, constraints)
        case "integer":
            _require_only(constraints, {"minimum", "maximum"})
            return _bounded(int, schema, constraints)
        case "boolean":
            _require_only(constraints, set())
            return bool
        case _:
            raise _Inexpressible


def _struct(schema: dict[str, Any], identity: list[tuple[str, Any]] | None = None) -> Any:
    _require_only(schema.keys() - _IGNORED_KEYWORDS, {"properties", "required"})
    required = frozenset(schema.get("required", ()))
    fields: list[Any] = [
        (f"i{index}", field_type, msgspec.field(name=name))
        for index, (name, field_type) in enumerate(identity or ())
    ]
    for index, (name, member_schema) in enumerate(schema["properties"].items()):
        field_type = _type(member_schema)
        # The engine must set a missing default.
        if name in required or member_schema.get("default") is not None:
            fields.append((f"f{index}", field_type, msgspec.field(name=name)))
        else:
            fields.append((f"f{index}", field_type | UnsetType, msgspec.field(name=name, default=UNSET)))
    return msgspec.defstruct("Quick", fields, kw_only=True, forbid_unknown_fields=True)


def _enum(schema: dict[str, Any], constraints: set[str]) -> Any:
    _require_only(constraints, {"enum"})
    values = tuple(schema["enum"])
    if schema.get("type") != "string" or not all(isinstance(value, str) for value in values):
        raise _Inexpressible
    return Literal[values]


def _bounded(kind: Any, schema: dict[str, Any], constraints: set[str]) -> Any:
    bounds = {_BOUNDS[name]: schema[name] for name in constraints if name in _BOUNDS}
    return Annotated[kind, Meta(**bounds)] if bounds else kind


def _require_only(constraints: set[str], allowed: set[str]) -> None:
    if constraints - allowed:
        raise _Inexpressible
