"""The markers of `Annotated[…]`, and what they write into a schema."""

from __future__ import annotations

from typing import Any

import msgspec

from ...objects import Atomic, Embedded, ListMap, ListSet, PreserveUnknown, Rule
from ._refusals import refused


def mark(schema: dict[str, Any], note: Any, path: str) -> None:
    """Apply a marker of `Annotated[…]`; other annotations belong to other libraries."""
    kind = schema.get("type")
    match note:
        case Rule():
            written = msgspec.to_builtins(note)
            rule = {name: value for name, value in written.items() if value not in ("", None)}
            schema.setdefault("x-kubernetes-validations", []).append(rule)
        case ListMap():
            _expect(kind == "array", "ListMap", "lists", path)
            schema["x-kubernetes-list-type"] = "map"
            schema["x-kubernetes-list-map-keys"] = list(note.keys)
        case ListSet():
            _expect(kind == "array", "ListSet", "lists", path)
            schema["x-kubernetes-list-type"] = "set"
        case Atomic():
            _expect(kind in ("array", "object"), "Atomic", "lists, dicts and Structs", path)
            schema["x-kubernetes-list-type" if kind == "array" else "x-kubernetes-map-type"] = "atomic"
        case PreserveUnknown():
            _expect(kind in ("object", None), "PreserveUnknown", "dicts and Structs", path)
            schema["x-kubernetes-preserve-unknown-fields"] = True
        case Embedded():
            _expect(kind in ("object", None), "Embedded", "dicts and Structs", path)
            schema["type"] = "object"
            schema["x-kubernetes-embedded-resource"] = True
            schema.setdefault("x-kubernetes-preserve-unknown-fields", "properties" not in schema)
            if not schema["x-kubernetes-preserve-unknown-fields"]:
                del schema["x-kubernetes-preserve-unknown-fields"]
        case _:
            pass


def _expect(fits: bool, marker: str, where: str, path: str) -> None:
    if not fits:
        raise refused(path, f"the marker {marker} is for {where}")
