"""`MergeSchema`: how a server merges the values at a position of an object.

Merging, applying and tracking of fields walk an object and its merge schema side by side::

    schema = merge_schema_of_kind(GroupVersionKind("apps", "v1", "Deployment"))
    schema = merge_schema_of_openapi(structural_schema)
    schema = SCHEMALESS
    schema.member("spec")                      # the schema of a field; None if there is no such field

Without a schema, the members of maps are merged, and lists are replaced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from kubeproto.kinds import BuiltinField
from kubeproto.objects import GroupVersionKind, is_object

Shape = Literal["any", "list", "map", "scalar"]
_NO_FIELDS: Final = frozenset[str]()


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final[Any] = _Absent()
"""Stands for a missing value, because null is a value."""


class MergeSchema:
    """The merge schema of a position. It is immutable, and its fields are computed on first use.

    An `atomic` value has a single owner. `keys` identify the elements of a list; a list without keys that is
    not atomic is a set. `merges`, `replaces` and `merge_key` are for strategic merge patches. `zero` is the
    value of a missing field in a server's typed object, or ABSENT.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        scalar: str = "",
        atomic: bool = False,
        keys: tuple[str, ...] = (),
        merges: bool = False,
        replaces: bool = False,
        merge_key: str = "",
        default: Any = None,
        zero: Any = ABSENT,
        fields: Callable[[], Mapping[str, MergeSchema]] = dict,
        elements: Callable[[], MergeSchema | None] = lambda: None,
    ) -> None:
        self.shape: Final = shape
        self.scalar: Final = scalar
        self.atomic: Final = atomic
        self.keys: Final = keys
        self.merges: Final = merges
        self.replaces: Final = replaces
        self.merge_key: Final = merge_key
        self.default: Final = default
        self.zero: Final = zero
        self._fields: Final = fields
        self._elements: Final = elements

    @functools.cached_property
    def fields(self) -> Mapping[str, MergeSchema]:
        """The schemas of the declared fields."""
        return self._fields()

    @functools.cached_property
    def elements(self) -> MergeSchema | None:
        """The schema of the elements of a list, or of the undeclared members of a map."""
        return self._elements()

    @functools.cached_property
    def zeros(self) -> Mapping[str, Any]:
        """The fields that are never missing in a server's typed object, and their default values."""
        return {name: schema.zero for name, schema in self.fields.items() if schema.zero is not ABSENT}

    def member(self, name: str) -> MergeSchema | None:
        """Return the schema of a field; None if a server would not accept the field."""
        return self.fields.get(name) or self.elements

    @property
    def element(self) -> MergeSchema:
        """The schema of the elements of a list."""
        return self.elements or UNTYPED


# A value without a type is atomic; the members of a map with preserved unknown fields are merged.
UNTYPED: Final = MergeSchema("any", atomic=True)
SCHEMALESS: Final[MergeSchema] = MergeSchema("any", elements=lambda: SCHEMALESS)
"""The schema of a kind that has none."""


def merge_schema_of_kind(gvk: GroupVersionKind, *, without: frozenset[str] = _NO_FIELDS) -> MergeSchema:
    """Return the merge schema of a built-in kind; KeyError if there is no such kind.

    `without` are the fields that an older server lacks, such as ``core_v1.PodSpec.resources``.
    """
    from kubeproto.kinds import kind_table

    return _type(kind_table().type_of(gvk), without)


def merge_schema_of_openapi(schema: Mapping[str, Any]) -> MergeSchema:
    """Return the merge schema of a custom resource, including its metadata, from its structural schema."""
    return _schema({**schema, "x-kubernetes-embedded-resource": True})


_SCALARS: Final = {
    "string": "string",
    "bytes": "string",
    "time": "string",
    "micro-time": "string",
    "integer": "numeric",
    "number": "numeric",
    "boolean": "boolean",
    "quantity": "",
    "int-or-string": "",
}


@functools.cache
def _type(name: str, without: frozenset[str] = _NO_FIELDS) -> MergeSchema:
    from kubeproto.kinds import kind_table

    type_facts = kind_table().types[name]
    return MergeSchema(
        "map", atomic=type_facts.map_type == "atomic", fields=lambda: _typed_fields(name, without)
    )


def _typed_fields(name: str, without: frozenset[str]) -> Mapping[str, MergeSchema]:
    from kubeproto.kinds import kind_table

    return {
        field: _field(field_facts, without)
        for field, field_facts in kind_table().types[name].fields.items()
        if f"{name}.{field}" not in without
    }


def _field(field: BuiltinField, without: frozenset[str]) -> MergeSchema:
    """Return the merge schema of a field of a built-in type."""
    merges, replaces = "merge" in field.patch_strategy, "replace" in field.patch_strategy
    match field.form:
        case ("list", *inner):
            return MergeSchema(
                "list",
                atomic=field.list_type in ("", "atomic"),
                keys=field.list_map_keys,
                merges=merges,
                merge_key=field.patch_merge_key,
                zero=None if field.required else ABSENT,
                elements=lambda: _plain(field.type, inner, without),
            )
        case ("map", *inner):
            return MergeSchema(
                "map",
                atomic=field.map_type == "atomic",
                replaces=replaces,
                zero=None if field.required else ABSENT,
                elements=lambda: _plain(field.type, inner, without),
            )
        case _:
            pass
    if "." in field.type:
        inside = _type(field.type, without)
        return MergeSchema(
            "map",
            atomic=field.map_type == "atomic" or (inside.atomic and field.map_type != "granular"),
            replaces=replaces,
            zero={} if field.default == {} else ABSENT,
            fields=lambda: inside.fields,
        )
    plain = _plain(field.type, [], without)
    if plain.shape != "scalar":
        return plain
    # Not for an optional field: the API sets its default before an object is merged.
    zero = field.default if field.required and field.default is not None else ABSENT
    return MergeSchema("scalar", scalar=plain.scalar, default=field.default, zero=zero)


def _plain(type_: str, form: Sequence[str], without: frozenset[str]) -> MergeSchema:
    """Return the merge schema of an element, for which a field declares only the type."""
    match form:
        case ["list", *inner]:
            return MergeSchema("list", atomic=True, elements=lambda: _plain(type_, inner, without))
        case ["map", *inner]:
            return MergeSchema("map", elements=lambda: _plain(type_, inner, without))
        case _:
            pass
    if "." in type_:
        return _type(type_, without)
    if type_ in _SCALARS:
        return MergeSchema("scalar", scalar=_SCALARS[type_])
    return MergeSchema("map", elements=lambda: UNTYPED) if type_ == "object" else UNTYPED


_JSON_SCALARS: Final = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}


def _schema(schema: Mapping[str, Any]) -> MergeSchema:
    """Return the merge schema of a level of a structural schema."""
    preserves = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if schema.get("x-kubernetes-int-or-string"):
        return MergeSchema("any", default=schema.get("default"))
    match schema.get("type"):
        case "object":
            return MergeSchema(
                "map",
                atomic=schema.get("x-kubernetes-map-type") == "atomic",
                default=schema.get("default"),
                fields=lambda: _schema_fields(schema),
                elements=lambda: _schema_rest(schema, preserves),
            )
        case "array":
            list_type = schema.get("x-kubernetes-list-type", "atomic")
            return MergeSchema(
                "list",
                atomic=list_type == "atomic",
                keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
                default=schema.get("default"),
                elements=lambda: _schema(schema.get("items", {})),
            )
        case str(type_) if type_ in _JSON_SCALARS:
            return MergeSchema("scalar", scalar=_JSON_SCALARS[type_], default=schema.get("default"))
        case _:
            return SCHEMALESS if preserves else UNTYPED


def _schema_fields(schema: Mapping[str, Any]) -> Mapping[str, MergeSchema]:
    fields = {
        name: _schema(property_schema) for name, property_schema in schema.get("properties", {}).items()
    }
    if schema.get("x-kubernetes-embedded-resource"):
        text = MergeSchema("scalar", scalar="string")
        # A custom resource has the built-in metadata, but without the zero values of a typed object.
        fields |= {"apiVersion": text, "kind": text, "metadata": _type("meta_v1.ObjectMeta")}
    return fields


def _schema_rest(schema: Mapping[str, Any], preserves: bool) -> MergeSchema | None:
    values = schema.get("additionalProperties")
    if is_object(values):
        return _schema(values)
    if values is True or preserves:
        return SCHEMALESS
    return None if "properties" in schema else UNTYPED
