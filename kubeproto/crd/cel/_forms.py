"""What a schema determines about the value of a CEL expression: its type, and what `==` and `+` mean for it.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from ...objects import is_object
from ._values import escape, holds_associative_lists, is_typed

_TEXTS: Final = {"byte": "bytes", "date": "timestamp", "date-time": "timestamp", "duration": "duration"}
_NUMERIC: Final = ("integer", "number", "unsigned")
_SCALARS: Final = (*_NUMERIC, "string", "boolean", "bytes", "timestamp", "duration")
_STRING: Final[dict[str, Any]] = {"type": "string"}
# Of the metadata of an object, a rule sees only the names.
_IDENTITY: Final[dict[str, Any]] = {
    "apiVersion": _STRING,
    "kind": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}


class Form(Struct, frozen=True):
    """The value of an expression as far as the schema determines it: `kind` is its type, or empty if open.

    `schema` is that of the value, or of the content of an optional value, and `path` where it is below
    `self`: to a server two objects with the same fields at two places are of two types. `mixed` means that
    the value may hold lists of the types set and map at unknown places.
    """

    kind: str = ""
    schema: dict[str, Any] | None = None
    path: str = ""
    optional: bool = False
    mixed: bool = False

    @property
    def merges(self) -> bool:
        """Whether the value contains lists of the types set and map, at places that the schema names."""
        return self.schema is not None and holds_associative_lists(self.schema)

    @property
    def fielded(self) -> bool:
        """Whether the value is an object with named fields, which is a distinct type."""
        return self.kind == "object" and self.schema is not None and "properties" in self.schema

    @property
    def items(self) -> Form:
        """Return the form of the elements of a list, or of the values of a map."""
        if self.schema is None:
            return UNKNOWN if self.mixed else OPEN
        below = self.schema.get("items", self.schema.get("additionalProperties"))
        return of_schema(below, f"{self.path}[]") if is_object(below) else OPEN


OPEN: Final = Form()
UNKNOWN: Final = Form(mixed=True)


def of_schema(schema: dict[str, Any], path: str, *, root: bool = False) -> Form:
    """Return the form of a value that is in an object."""
    kind = schema.get("type", "")
    if kind == "string":
        kind = _TEXTS.get(schema.get("format", ""), kind)
    if schema.get("x-kubernetes-int-or-string"):
        kind = ""
    if root or schema.get("x-kubernetes-embedded-resource"):
        schema = {**schema, "properties": {**schema.get("properties", {}), **_IDENTITY}}
    return Form(kind, schema, path)


def of_list(items: Form) -> Form:
    """Return the form of a list made by a rule: its elements are compared one by one, in order."""
    if items.mixed or items.optional or (items.schema is None and items.kind not in _SCALARS):
        return Form("array", mixed=items.mixed or items.merges)
    below = {"type": items.kind} if items.schema is None else items.schema
    # The path of its elements is that of their own.
    return Form("array", {"type": "array", "items": below}, items.path.removesuffix("[]"))


def present(form: Form) -> Form:
    """Return the form of the content of an optional value."""
    if not form.optional:
        return UNKNOWN if form.mixed else OPEN
    return of_schema(form.schema, form.path) if form.schema is not None else Form(mixed=form.mixed)


def optional(form: Form) -> Form:
    """Return the form of an optional value of this form."""
    return Form("", form.schema, form.path, optional=True, mixed=form.mixed)


def either(one: Form, other: Form) -> Form:
    """Return the form of a value that has one of two forms."""
    if one == other:
        return one
    mixed = one.mixed or other.mixed or one.merges or other.merges
    return Form(one.kind if one.kind == other.kind else "", mixed=mixed)


def member(form: Form, name: str) -> Form | None:
    """Return the form of a field; None if the schema declares no such field, so that no rule can name it."""
    schema = form.schema
    if schema is None or form.kind != "object":
        return None if form.kind not in ("", "object") else UNKNOWN if form.mixed else OPEN
    if "properties" in schema:
        known = {escape(one): below for one, below in schema["properties"].items() if is_typed(below)}
        return of_schema(known[name], f"{form.path}.{name}") if name in known else None
    return form.items if is_object(schema.get("additionalProperties")) else None


def comparable(one: Form, other: Form, *, ordered: bool = False) -> bool:
    """Return whether a server's type checker lets two values be compared."""
    if one.optional or other.optional:
        return True
    if ordered and not {one.kind, other.kind} <= {"", *_SCALARS}:
        return False
    if "" in (one.kind, other.kind):
        return True
    if one.kind != other.kind:
        return ordered and one.kind in _NUMERIC and other.kind in _NUMERIC
    if one.fielded or other.fielded:
        return one.fielded and other.fielded and one.path == other.path
    if one.kind in ("array", "object") and one.schema is not None and other.schema is not None:
        return comparable(one.items, other.items)
    return True


def addable(one: Form, other: Form) -> bool:
    """Return whether a server's type checker allows two values as arithmetic operands."""
    dated = {"timestamp", "duration"}
    return comparable(one, other) or {one.kind, other.kind} == dated
