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
        """The fields that identify an element of this list; none if it is not such a list."""
        ...

    def default(self, key: str) -> Any:
        """The value that a server gives to a key that an element lacks; UNSET if it gives none."""
        ...

    def member(self, name: str) -> Shape:
        """Return the shape of a member; of the elements, if this is a list."""
        ...


class _Unknown:
    keys = ()

    def default(self, key: str) -> Any:
        return UNSET

    def member(self, name: str) -> Shape:
        return self


_UNKNOWN: Final = _Unknown()


class _BuiltIn:
    """A field of a built-in kind."""

    def __init__(self, facts: BuiltinField) -> None:
        self._facts = facts
        self.keys = facts.list_map_keys or ((facts.patch_merge_key,) if facts.patch_merge_key else ())

    def default(self, key: str) -> Any:
        field = kind_table().types[self._facts.type].fields.get(key)
        return UNSET if field is None or field.required or field.default is None else field.default

    def member(self, name: str) -> Shape:
        if self._facts.form:
            # Inside a list or a map the keys are not those of this field any more.
            inner = replace(
                self._facts, form=self._facts.form[1:], list_map_keys=(), patch_merge_key="", list_type=""
            )
            return _BuiltIn(inner)
        owner = kind_table().types.get(self._facts.type)
        facts = None if owner is None else owner.fields.get(name)
        return _UNKNOWN if facts is None else _BuiltIn(facts)


class _Defined:
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
        return _Defined(member) if is_object(member) else _UNKNOWN


class _Root:
    """An object of a custom kind, whose metadata is that of every kind."""

    keys = ()

    def __init__(self, schema: dict[str, Any]) -> None:
        self._defined = _Defined(schema)

    def default(self, key: str) -> Any:
        return UNSET

    def member(self, name: str) -> Shape:
        return _metadata() if name == "metadata" else self._defined.member(name)


@cache
def shape_of(kind: type[KubeObject], resource: Resource) -> Shape:
    """Return the shape of a kind, whose class may have a few of its fields only."""
    for name, facts in kind_table().types.items():
        if facts.gvk == resource.gvk:
            return _BuiltIn(_field(name))
    described = get_origin(kind) or kind
    return _Root({} if issubclass(described, Dynamic) else _schema(described))


def _schema(kind: type[KubeObject]) -> dict[str, Any]:
    from kubeproto.crd import SchemaError, schema_of  # costs an import that most programs never need

    try:
        return schema_of(kind)
    except (
        SchemaError,
        TypeError,
        ValueError,
    ):  # no definition can be made from such a class, but it can be read
        return {}


def _metadata() -> Shape:
    return _BuiltIn(_field("meta_v1.ObjectMeta"))


def _field(type_: str) -> BuiltinField:

    return BuiltinField(type=type_)
