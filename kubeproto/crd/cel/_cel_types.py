"""The static type of a CEL expression, as far as a schema determines it, and the types that operators accept.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from ...objects import is_object
from ._cel_values import escape_name, has_associative_lists, is_typed

_STRING_TYPES: Final = {
    "byte": "bytes", "date": "timestamp", "date-time": "timestamp", "duration": "duration"
}  # fmt: skip
_NUMERIC: Final = ("integer", "number", "unsigned")
_SCALARS: Final = (*_NUMERIC, "string", "boolean", "bytes", "timestamp", "duration")
_STRING: Final[dict[str, Any]] = {"type": "string"}
# The fields of every object; a rule can read only the names in its metadata.
_OBJECT_PROPERTIES: Final[dict[str, Any]] = {
    "apiVersion": _STRING,
    "kind": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}


class CelType(Struct, frozen=True):
    """The type of an expression: `kind` is a type of schemas or of CEL, or empty if it is dynamic.

    `schema` is the schema of the value, or of the content of an optional value. `path` is its location below
    `self`: to a server, two objects with the same fields at two paths have different types.
    `maybe_associative` means that the value may contain lists of the types set and map at unknown paths.
    """

    kind: str = ""
    schema: dict[str, Any] | None = None
    path: str = ""
    optional: bool = False
    maybe_associative: bool = False

    @property
    def is_associative(self) -> bool:
        """True if the value contains lists of the types set and map, at paths that the schema specifies."""
        return self.schema is not None and has_associative_lists(self.schema)

    @property
    def may_be_associative(self) -> bool:
        """True if the value contains, or may contain, lists of the types set and map."""
        return self.maybe_associative or self.is_associative

    @property
    def has_fields(self) -> bool:
        """Whether this is an object with declared properties, which has a CEL type of its own."""
        return self.kind == "object" and self.schema is not None and "properties" in self.schema

    @property
    def items(self) -> CelType:
        """The type of the elements of a list, or of the values of a map."""
        if self.schema is None:
            return MAYBE_ASSOCIATIVE if self.maybe_associative else DYNAMIC
        item_schema = self.schema.get("items", self.schema.get("additionalProperties"))
        return type_of_schema(item_schema, f"{self.path}[]") if is_object(item_schema) else DYNAMIC


DYNAMIC: Final = CelType()
MAYBE_ASSOCIATIVE: Final = CelType(maybe_associative=True)


def type_of_schema(schema: dict[str, Any], path: str, *, root: bool = False) -> CelType:
    """Return the type of a value in an object."""
    kind = schema.get("type", "")
    if kind == "string":
        kind = _STRING_TYPES.get(schema.get("format", ""), kind)
    if schema.get("x-kubernetes-int-or-string"):
        kind = ""
    if root or schema.get("x-kubernetes-embedded-resource"):
        schema = {**schema, "properties": {**schema.get("properties", {}), **_OBJECT_PROPERTIES}}
    return CelType(kind, schema, path)


def list_of(items: CelType) -> CelType:
    """Return the type of a list that a rule creates: `==` compares its elements in order."""
    is_open = items.schema is None and items.kind not in _SCALARS
    if items.maybe_associative or items.optional or is_open:
        return CelType("array", maybe_associative=items.may_be_associative)
    item_schema = {"type": items.kind} if items.schema is None else items.schema
    # `items` of this type appends `[]`, and the result must be the path of the elements.
    return CelType("array", {"type": "array", "items": item_schema}, items.path.removesuffix("[]"))


def content_of(optional: CelType) -> CelType:
    """Return the type of the content of an optional value."""
    if not optional.optional:
        return MAYBE_ASSOCIATIVE if optional.maybe_associative else DYNAMIC
    if optional.schema is None:
        return CelType(maybe_associative=optional.maybe_associative)
    return type_of_schema(optional.schema, optional.path)


def optional_of(content: CelType) -> CelType:
    """Return the type of an optional value with this content."""
    return CelType(
        "", content.schema, content.path, optional=True, maybe_associative=content.maybe_associative
    )


def common_type(left: CelType, right: CelType) -> CelType:
    """Return the type of a value that has one of two types."""
    if left == right:
        return left
    maybe_associative = left.may_be_associative or right.may_be_associative
    return CelType(left.kind if left.kind == right.kind else "", maybe_associative=maybe_associative)


def field_type(object_type: CelType, name: str) -> CelType | None:
    """Return the type of a field; None if the schema specifies no such field, so that no rule can read it."""
    schema = object_type.schema
    if schema is None or object_type.kind != "object":
        if object_type.kind not in ("", "object"):
            return None
        return MAYBE_ASSOCIATIVE if object_type.maybe_associative else DYNAMIC
    if "properties" in schema:
        properties = {
            escape_name(property_name): property_
            for property_name, property_ in schema["properties"].items()
            if is_typed(property_)
        }
        path = f"{object_type.path}.{name}"
        return type_of_schema(properties[name], path) if name in properties else None
    return object_type.items if is_object(schema.get("additionalProperties")) else None


def are_comparable(left: CelType, right: CelType, *, ordered: bool = False) -> bool:
    """Return whether a server's type checker allows a comparison of two values; `ordered` by ``<``."""
    if left.optional or right.optional:
        return True
    if ordered and not {left.kind, right.kind} <= {"", *_SCALARS}:
        return False
    if "" in (left.kind, right.kind):
        return True
    if left.kind != right.kind:
        return ordered and left.kind in _NUMERIC and right.kind in _NUMERIC
    if left.has_fields or right.has_fields:
        return left.has_fields and right.has_fields and left.path == right.path
    if left.kind in ("array", "object") and left.schema is not None and right.schema is not None:
        return are_comparable(left.items, right.items)
    return True


def are_arithmetic(left: CelType, right: CelType) -> bool:
    """Return whether a server's type checker allows an arithmetic operator between two values."""
    return are_comparable(left, right) or {left.kind, right.kind} == {"timestamp", "duration"}
