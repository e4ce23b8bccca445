"""The annotations of `Annotated[…]` in a schema: the constraints of `msgspec.Meta`, and our markers."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..._errors import LocalProtocolError
from ...objects import Atomic, Embedded, ListMap, ListSet, PreserveUnknown, Rule
from .._go_patterns import check_pattern

_LENGTHS: Final = {"string": "Length", "array": "Items", "object": "Properties"}


class SchemaError(LocalProtocolError, TypeError):
    """A type that no schema of Kubernetes can describe; the message names the field and the reason."""


def schema_error(path: str, problem: str) -> SchemaError:
    """Return the error for the field at this path."""
    return SchemaError(f"{path or 'the type'}: {problem}")


def add_constraints(schema: dict[str, Any], meta: msgspec.Meta, python_type: Any) -> None:
    """Add the constraints of `meta` to a schema; a ValueError if Kubernetes cannot check them."""
    for bound, keyword in (("ge", "minimum"), ("gt", "minimum"), ("le", "maximum"), ("lt", "maximum")):
        value = getattr(meta, bound)
        if value is not None:
            schema[keyword] = value
            if bound in ("gt", "lt"):
                schema["exclusive" + keyword.capitalize()] = True
    if meta.multiple_of is not None:
        schema["multipleOf"] = meta.multiple_of
    if meta.pattern is not None:
        check_pattern(meta.pattern)
        schema["pattern"] = meta.pattern
    for limit in ("min", "max"):
        length = getattr(meta, f"{limit}_length")
        if length is not None:
            schema[limit + _LENGTHS[schema.get("type", "string")]] = _json_length(length, python_type)
    if meta.title is not None:
        schema["title"] = meta.title
    if meta.description is not None:
        schema["description"] = meta.description
    if meta.examples:
        schema["example"] = meta.examples[0]
    if meta.extra_json_schema:
        schema.update(meta.extra_json_schema)


def _json_length(length: int, python_type: Any) -> int:
    """Return the length in JSON: bytes are written as base64, four characters for each three."""
    return -(-length // 3) * 4 if python_type in (bytes, bytearray, memoryview) else length


def add_marker(schema: dict[str, Any], annotation: Any, path: str) -> None:
    """Add a marker to a schema; other annotations belong to other libraries and are ignored."""
    kind = schema.get("type")
    match annotation:
        case Rule():
            keywords = msgspec.to_builtins(annotation)
            rule = {name: value for name, value in keywords.items() if value not in ("", None)}
            schema.setdefault("x-kubernetes-validations", []).append(rule)
        case ListMap():
            _require(kind == "array", "ListMap", "lists", path)
            schema["x-kubernetes-list-type"] = "map"
            schema["x-kubernetes-list-map-keys"] = list(annotation.keys)
        case ListSet():
            _require(kind == "array", "ListSet", "lists", path)
            schema["x-kubernetes-list-type"] = "set"
        case Atomic():
            _require(kind in ("array", "object"), "Atomic", "lists, dicts and Structs", path)
            schema["x-kubernetes-list-type" if kind == "array" else "x-kubernetes-map-type"] = "atomic"
        case PreserveUnknown():
            _require(kind in ("object", None), "PreserveUnknown", "dicts and Structs", path)
            schema["x-kubernetes-preserve-unknown-fields"] = True
        case Embedded():
            _require(kind in ("object", None), "Embedded", "dicts and Structs", path)
            schema["type"] = "object"
            schema["x-kubernetes-embedded-resource"] = True
            if "properties" not in schema:
                schema.setdefault("x-kubernetes-preserve-unknown-fields", True)
        case _:
            pass


def _require(fits: bool, marker: str, types: str, path: str) -> None:
    if not fits:
        raise schema_error(path, f"the marker {marker} is only for {types}")
