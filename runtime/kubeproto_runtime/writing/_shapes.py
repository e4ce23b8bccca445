"""`Shape`: which keys identify the elements of each list of a kind, as far as that is known.

For built-in kinds it is in their table, for a custom resource in its class, as the `ListMap` of its fields.
For lists of any other kind nothing is known.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, get_origin

from msgspec import UNSET
from msgspec.structs import replace

from kubeproto import Dynamic
from kubeproto.kinds import FieldFacts, table
from kubeproto.objects import is_object

if TYPE_CHECKING:
    from kubeproto import KubeObject, Resource


class Shape(Protocol):
    """What is known of a field."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that identify an element of this list; none if it is not such a list."""
        ...

    def default(self, key: str) -> Any:
        """The value that a server gives to a key that an element lacks; UNSET if it gives none."""
        ...

    def below(self, name: str) -> Shape:
        """Return what is known of a member; of an element, if this is a list."""
        ...


class _Unknown:
    keys = ()

    def default(self, key: str) -> Any:
        return UNSET

    def below(self, name: str) -> Shape:
        return self


_UNKNOWN: Final = _Unknown()


class _BuiltIn:
    """A field of a built-in kind."""

    def __init__(self, facts: FieldFacts) -> None:
        self._facts = facts
        self.keys = facts.list_map_keys or ((facts.patch_merge_key,) if facts.patch_merge_key else ())

    def default(self, key: str) -> Any:
        found = table().types[self._facts.type].fields.get(key)
        return UNSET if found is None or found.required or found.default is None else found.default

    def below(self, name: str) -> Shape:
        if self._facts.form:
            # Inside a list or a map the keys are not those of this field any more.
            inner = replace(
                self._facts, form=self._facts.form[1:], list_map_keys=(), patch_merge_key="", list_type=""
            )
            return _BuiltIn(inner)
        owner = table().types.get(self._facts.type)
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

    def below(self, name: str) -> Shape:
        schema = self._schema
        found = schema.get("properties", {}).get(name) or schema.get("items")
        found = found or schema.get("additionalProperties")
        return _Defined(found) if is_object(found) else _UNKNOWN


class _Root:
    """An object of a custom kind: its metadata is that of all."""

    keys = ()

    def __init__(self, schema: dict[str, Any]) -> None:
        self._defined = _Defined(schema)

    def default(self, key: str) -> Any:
        return UNSET

    def below(self, name: str) -> Shape:
        return _metadata() if name == "metadata" else self._defined.below(name)


@cache
def shape_of(kind: type[KubeObject], resource: Resource) -> Shape:
    """Return what is known of the lists of a kind, which may be a class with a few of the fields only."""
    for name, facts in table().types.items():
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


def _field(type_: str) -> FieldFacts:

    return FieldFacts(type=type_)
