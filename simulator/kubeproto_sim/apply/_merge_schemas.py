"""`Facts`: what a server knows about the values at one place of an object of any kind, even an unknown one.

Merging, applying and tracking of fields walk an object and its facts side by side::

    facts = facts_of_kind(GroupVersionKind("apps", "v1", "Deployment"))
    facts = facts_of_schema(structural_schema)
    facts = NOTHING_KNOWN
    facts.member("spec")                       # the facts one step down, or None: no such field

Where nothing is known, maps are taken apart and lists are not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from kubeproto.kinds import FieldFacts
from kubeproto.objects import GroupVersionKind

from ..storage._json_values import is_map

Shape = Literal["any", "list", "map", "scalar"]
_ALL: Final = frozenset[str]()  # no field is left out


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final[Any] = _Absent()
"""The value of what is missing: null is a value."""


class Facts:
    """The facts of one place. They never change; what is below is computed when first needed.

    `atomic` values have one owner as a whole. `keys` identify the elements of a list; a list that is neither
    atomic nor has keys is a set. `merges`, `replaces` and `merge_key` are for strategic merge patches. `zero`
    is what a server's typed object has where JSON has nothing, or ABSENT.
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
        fields: Callable[[], Mapping[str, Facts]] = dict,
        rest: Callable[[], Facts | None] = lambda: None,
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
        self._rest: Final = rest

    @functools.cached_property
    def fields(self) -> Mapping[str, Facts]:
        """Return the fields that are declared by name."""
        return self._fields()

    @functools.cached_property
    def rest(self) -> Facts | None:
        """Return the facts of the elements of a list, or of what a map has beyond its fields."""
        return self._rest()

    @functools.cached_property
    def zeros(self) -> Mapping[str, Any]:
        """Return the fields that a server's typed object always has, with their values when unset."""
        return {name: facts.zero for name, facts in self.fields.items() if facts.zero is not ABSENT}

    def member(self, name: str) -> Facts | None:
        """Return the facts of one field; None if a server would not accept it."""
        return self.fields.get(name) or self.rest

    @property
    def element(self) -> Facts:
        """Return the facts of a list's elements."""
        return self.rest or UNTYPED


# What the API leaves open is one value as a whole; what a schema says to preserve is taken apart.
UNTYPED: Final = Facts("any", atomic=True)
NOTHING_KNOWN: Final[Facts] = Facts("any", rest=lambda: NOTHING_KNOWN)
"""Return the facts of a kind without any schema."""


def facts_of_kind(gvk: GroupVersionKind, *, without: frozenset[str] = _ALL) -> Facts:
    """Return the facts of a built-in kind; KeyError if none has that name.

    `without` are fields that a server does not know, such as ``core_v1.PodSpec.resources``.
    """
    from kubeproto.kinds import table

    return _type(table().type_of(gvk), without)


def facts_of_schema(schema: Mapping[str, Any]) -> Facts:
    """Return the facts of a custom resource by its structural schema, metadata included."""
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
def _type(name: str, without: frozenset[str] = _ALL) -> Facts:
    from kubeproto.kinds import table

    facts = table().types[name]
    return Facts("map", atomic=facts.map_type == "atomic", fields=lambda: _typed_fields(name, without))


def _typed_fields(name: str, without: frozenset[str]) -> Mapping[str, Facts]:
    from kubeproto.kinds import table

    return {
        field: _field(facts, without)
        for field, facts in table().types[name].fields.items()
        if f"{name}.{field}" not in without
    }


def _field(field: FieldFacts, without: frozenset[str]) -> Facts:
    """Return the facts of a field of a built-in type."""
    merges, replaces = "merge" in field.patch_strategy, "replace" in field.patch_strategy
    match field.form:
        case ("list", *inner):
            return Facts(
                "list",
                atomic=field.list_type in ("", "atomic"),
                keys=field.list_map_keys,
                merges=merges,
                merge_key=field.patch_merge_key,
                zero=None if field.required else ABSENT,
                rest=lambda: _plain(field.type, inner, without),
            )
        case ("map", *inner):
            return Facts(
                "map",
                atomic=field.map_type == "atomic",
                replaces=replaces,
                zero=None if field.required else ABSENT,
                rest=lambda: _plain(field.type, inner, without),
            )
        case _:
            pass
    if "." in field.type:
        inside = _type(field.type, without)
        return Facts(
            "map",
            atomic=field.map_type == "atomic" or (inside.atomic and field.map_type != "granular"),
            replaces=replaces,
            zero={} if field.default == {} else ABSENT,
            fields=lambda: inside.fields,
        )
    plain = _plain(field.type, [], without)
    if plain.shape != "scalar":
        return plain
    # The default of an optional field is set by the API, and has been filled in before.
    zero = field.default if field.required and field.default is not None else ABSENT
    return Facts("scalar", scalar=plain.scalar, default=field.default, zero=zero)


def _plain(type_: str, form: Sequence[str], without: frozenset[str]) -> Facts:
    """Return the facts of an element, for which the field declares nothing but the type."""
    match form:
        case ["list", *inner]:
            return Facts("list", atomic=True, rest=lambda: _plain(type_, inner, without))
        case ["map", *inner]:
            return Facts("map", rest=lambda: _plain(type_, inner, without))
        case _:
            pass
    if "." in type_:
        return _type(type_, without)
    if type_ in _SCALARS:
        return Facts("scalar", scalar=_SCALARS[type_])
    return Facts("map", rest=lambda: UNTYPED) if type_ == "object" else UNTYPED


_JSON_SCALARS: Final = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}


def _schema(schema: Mapping[str, Any]) -> Facts:
    """Return the facts of one level of a structural schema."""
    preserves = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if schema.get("x-kubernetes-int-or-string"):
        return Facts("any", default=schema.get("default"))
    match schema.get("type"):
        case "object":
            return Facts(
                "map",
                atomic=schema.get("x-kubernetes-map-type") == "atomic",
                default=schema.get("default"),
                fields=lambda: _schema_fields(schema),
                rest=lambda: _schema_rest(schema, preserves),
            )
        case "array":
            list_type = schema.get("x-kubernetes-list-type", "atomic")
            return Facts(
                "list",
                atomic=list_type == "atomic",
                keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
                default=schema.get("default"),
                rest=lambda: _schema(schema.get("items", {})),
            )
        case str(type_) if type_ in _JSON_SCALARS:
            return Facts("scalar", scalar=_JSON_SCALARS[type_], default=schema.get("default"))
        case _:
            return NOTHING_KNOWN if preserves else UNTYPED


def _schema_fields(schema: Mapping[str, Any]) -> Mapping[str, Facts]:
    fields = {name: _schema(below) for name, below in schema.get("properties", {}).items()}
    if schema.get("x-kubernetes-embedded-resource"):
        text = Facts("scalar", scalar="string")
        # A custom resource's metadata is the built-in one, but no typed object fills it in.
        fields |= {"apiVersion": text, "kind": text, "metadata": _type("meta_v1.ObjectMeta")}
    return fields


def _schema_rest(schema: Mapping[str, Any], preserves: bool) -> Facts | None:
    values = schema.get("additionalProperties")
    if is_map(values):
        return _schema(values)
    if values is True or preserves:
        return NOTHING_KNOWN
    return None if "properties" in schema else UNTYPED
