"""The constraints of `msgspec.Meta`, in the keywords of an OpenAPI schema."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .._patterns import check_pattern

_LENGTHS: Final = {"string": "Length", "array": "Items", "object": "Properties"}


def constrain(schema: dict[str, Any], meta: msgspec.Meta, python_type: Any) -> None:
    """Write the constraints of `meta` into a schema; ValueError for what Kubernetes cannot check."""
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
            schema[limit + _LENGTHS[schema.get("type", "string")]] = _wire_length(length, python_type)
    if meta.title is not None:
        schema["title"] = meta.title
    if meta.description is not None:
        schema["description"] = meta.description
    if meta.examples:
        schema["example"] = meta.examples[0]
    if meta.extra_json_schema:
        schema.update(meta.extra_json_schema)


def _wire_length(length: int, python_type: Any) -> int:
    """Return the length in JSON: bytes are written as base64, four characters for each three."""
    return -(-length // 3) * 4 if python_type in (bytes, bytearray, memoryview) else length
