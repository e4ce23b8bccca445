"""`Shape`: the merge keys of the lists of a kind.

The keys of built-in kinds are in a table, and the keys of a custom resource in the `ListMap` fields of its
class. The keys of all other kinds are unknown.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, get_origin

from msgspec import UNSET
from msgspec.structs import replace

from kubeproto import Dynamic
from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.objects import is_object

if TYPE_CHECKING:
    from kubeproto import KubeObject, Resource


class Shape(Protocol):
    """The merge keys of a field and its members."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The merge keys of this list; empty for other fields and lists without merge keys."""
        ...

    def default(self, key: str) -> Any:
        """Return the default that a server sets for a missing key of an element; UNSET if it sets none."""
        ...

    def member(self, name: str) -> Shape:
        """Return the shape of a member; of the elements, if this is a list."""
        ...


class _UnknownShape:
    keys = ()

    def default(self, key: str) -> Any:
        return UNSET

    def member(self, name: str) -> Shape:
        return self


_UNKNOWN: Final = _UnknownShape()


class _BuiltinShape:
    """A field of a built-in kind."""

    def __init__(self, field: BuiltinField) -> None:
        self._field = field
        self.keys = field.list_map_keys or ((field.patch_merge_key,) if field.patch_merge_key else ())

    def default(self, key: str) -> Any:
        field = kind_table().types[self._field.type].fields.get(key)
        return UNSET if field is None or field.required or field.default is None else field.default

    def member(self, name: str) -> Shape:
        if self._field.form:
            # The elements of a list or map do not have its merge keys.
            element = replace(
                self._field, form=self._field.form[1:], list_map_keys=(), patch_merge_key="", list_type=""
            )
            return _BuiltinShape(element)
        owner = kind_table().types.get(self._field.type)
        field = None if owner is None else owner.fields.get(name)
        return _UNKNOWN if field is None else _BuiltinShape(field)


class _SchemaShape:
    """A field of a custom resource, by its OpenAPI schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self.keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))

    def default(self, key: str) -> Any:
        element: dict[str, Any] = self._schema.get("items", {})
        return element.get("properties", {}).get(key, {}).get("default", UNSET)

    def member(self, name: str) -> Shape:
        schema = self._schema
        member = schema.get("properties", {}).get(name) or schema.get("items")
        member = member or schema.get("additionalProperties")
        return _SchemaShape(member) if is_object(member) else _UNKNOWN


class _CustomResourceShape:
    """An object of a custom kind: the schema has its fields except `metadata`."""

    keys = ()

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema_shape = _SchemaShape(schema)

    def default(self, key: str) -> Any:
        return UNSET

    def member(self, name: str) -> Shape:
        return _shape_of_type("meta_v1.ObjectMeta") if name == "metadata" else self._schema_shape.member(name)


@cache
def shape_of(kind: type[KubeObject], resource: Resource) -> Shape:
    """Return the shape of a kind. It includes fields that the class does not have."""
    for name, builtin_type in kind_table().types.items():
        if builtin_type.gvk == resource.gvk:
            return _shape_of_type(name)
    cls = get_origin(kind) or kind
    return _CustomResourceShape({} if issubclass(cls, Dynamic) else _class_schema(cls))


def _class_schema(kind: type[KubeObject]) -> dict[str, Any]:
    from kubeproto.crd import SchemaError, schema_of  # most programs never need this import

    try:
        return schema_of(kind)
    except (SchemaError, TypeError, ValueError):  # a class that has no schema can still be read and written
        return {}


def _shape_of_type(name: str) -> Shape:
    return _BuiltinShape(BuiltinField(type=name))
