"""From a Python type to the structural schema of a custom resource.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/

Every level has a `type`; one without it keeps unknown fields. A field with a default is optional and
carries the default, unless that is None: None is never sent, so such a field is simply absent.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from ...objects import Duration, KubeObject, MicroTime, ObjectMeta, Quantity
from .._violations import child
from ._class_fields import ClassField, fields_of, tag_of, unwrap
from ._constraints import constrain
from ._markers import mark
from ._refusals import refused

Schema = dict[str, Any]

# Kubernetes' own pattern for quantities, as its schema generator writes it.
_NUMBER: Final = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY: Final = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
_INT_OR_STRING: Final = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
}
_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_SCALARS: Final[dict[Any, Schema]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number", "format": "double"},
    str: {"type": "string"},
    bytes: {"type": "string", "format": "byte"},
    bytearray: {"type": "string", "format": "byte"},
    memoryview: {"type": "string", "format": "byte"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    MicroTime: {"type": "string", "format": "date-time"},
    Duration: {"type": "string", "format": "duration"},
    Quantity: {**_INT_OR_STRING, "pattern": _QUANTITY},
    uuid.UUID: {"type": "string", "format": "uuid"},
    decimal.Decimal: {"type": "string"},
    Any: _ANYTHING,
    object: _ANYTHING,
    msgspec.Raw: _ANYTHING,
}
_REFUSED: Final = {
    datetime.timedelta: "msgspec writes ISO 8601, which Kubernetes cannot read; use Duration",
    datetime.time: "Kubernetes has no format for a time of day; use str with a pattern",
    type(None): "a value that can only be null has no schema",
    complex: "JSON has no such numbers",
}
_LISTS: Final = (list, Sequence)
_SETS: Final = (set, frozenset, AbstractSet)
_MAPS: Final = (dict, Mapping)
# What the format byte allows, and the empty string, which a server does not accept as base64.
_BASE64: Final = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
# Metadata inside an object, as controller-gen writes it: what users set there. The rest would be pruned.
_METADATA: Final = {
    "type": "object",
    "properties": {
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    },
}
# An object's identity is defined by the server; a schema must not describe it.
_IDENTITY: Final = ("apiVersion", "kind", "metadata")


def schema_of(type_: Any) -> Schema:
    """Return the structural schema of a type; of a kind, the schema of its whole object."""
    return _Walk().schema(type_, "")


class _Walk:
    """A walk down a type. It keeps the classes that it is inside, so that it detects recursion."""

    def __init__(self) -> None:
        self.inside: dict[Any, str] = {}

    def schema(self, type_: Any, path: str) -> Schema:
        type_, notes = unwrap(type_)
        schema = self._plain(type_, path)
        for note in notes:
            if isinstance(note, msgspec.Meta):
                try:
                    constrain(schema, note, get_origin(type_) or type_)
                except (ValueError, KeyError) as error:
                    raise refused(path, str(error)) from None
            else:
                mark(schema, note, path)
        return schema

    def _plain(self, type_: Any, path: str) -> Schema:
        origin, arguments = get_origin(type_), get_args(type_)
        if type_ in (list, set, frozenset, tuple, dict):
            origin, arguments = type_, ()
        if origin in (Union, types.UnionType):
            return self._union(arguments, path)
        if origin is Literal:
            return _enum(arguments, path)
        if origin in _LISTS:
            return {"type": "array", "items": self.schema(arguments[0] if arguments else Any, f"{path}[]")}
        if origin in _SETS:
            items = self.schema(arguments[0] if arguments else Any, f"{path}[]")
            return {"type": "array", "x-kubernetes-list-type": "set", "items": items}
        if origin is tuple:
            return self._tuple(arguments, path)
        if origin in _MAPS:
            return self._map(arguments, path)
        if isinstance(type_, typing.TypeVar):
            return self.schema(type_.__bound__ or Any, path)
        if type_ in _REFUSED:
            raise refused(path, f"{_name(type_)}: {_REFUSED[type_]}")
        if type_ in _SCALARS:
            return _copy(_SCALARS[type_])
        if isinstance(type_, type) and issubclass(type_, enum.Enum):
            return _enum(tuple(member.value for member in type_), path)
        if type_ is ObjectMeta:
            return _copy(_METADATA)
        if fields_of(type_) is not None:
            return self.object(type_, path)
        raise refused(path, f"no schema of Kubernetes describes {_name(type_)}")

    def object(self, type_: Any, path: str, tag: bool = True) -> Schema:
        """Return the schema of a class with fields, each with its own schema."""
        cls = get_origin(type_) or type_
        if type_ in self.inside:
            raise refused(
                path,
                f"{_name(type_)} stands inside itself (it began at {self.inside[type_] or 'the top'}), and"
                " Kubernetes has no recursive schemas; give the inner field the type Any",
            )
        if getattr(cls, "__struct_config__", None) is not None and cls.__struct_config__.array_like:
            raise refused(path, f"{_name(type_)} is written as a list of different things")
        self.inside[type_] = path
        schema: Schema = {"type": "object"}
        if cls.__doc__ and "__doc__" in vars(cls) and not cls.__doc__.startswith(f"{cls.__name__}("):
            schema["description"] = _clean(cls.__doc__)
        properties: dict[str, Schema] = {}
        needed: list[str] = []
        if tag and (tagged := tag_of(cls)) is not None:
            properties[tagged[0]] = _enum((tagged[1],), child(path, tagged[0]))
            needed.append(tagged[0])
        for field in fields_of(type_) or ():
            if issubclass(cls, KubeObject) and (field.name in _IDENTITY or field.name == "-"):
                continue
            properties[field.name] = self.property(field, child(path, field.name))
            if field.required:
                needed.append(field.name)
        if properties:
            schema["properties"] = properties
        if needed:
            schema["required"] = needed
        for rule in getattr(cls, "__rules__", ()):
            mark(schema, rule, path)
        del self.inside[type_]
        return schema

    def property(self, field: ClassField, path: str) -> Schema:
        schema = self.schema(field.type, path)
        if field.default is None and not field.required:
            if schema.pop("nullable", False):  # absent means the same, and None is never sent
                _forbid_null(schema)
        elif field.default is not UNSET:
            schema["default"] = field.default
            if field.default == "" and schema.get("format") == "byte":
                del schema["format"]
                schema["pattern"] = _BASE64
        return schema

    def _union(self, members: Sequence[Any], path: str) -> Schema:
        present = [member for member in members if member not in (type(None), UnsetType)]
        schema = self.schema(present[0], path) if len(present) == 1 else self._alternatives(present, path)
        if type(None) in members:
            schema["nullable"] = True
            _allow_null(schema)
        return schema

    def _alternatives(self, members: list[Any], path: str) -> Schema:
        plain = [unwrap(member)[0] for member in members]
        if any(type_ in (Any, object, msgspec.Raw) for type_ in plain):
            return _copy(_ANYTHING)
        if set(plain) == {int, str}:
            return _copy(_INT_OR_STRING)
        if set(plain) == {int, float}:
            return self.schema(float, path)
        if all(get_origin(type_) is Literal for type_ in plain):
            return _enum([value for type_ in plain for value in get_args(type_)], path)
        if all(tag_of(get_origin(type_) or type_) is not None for type_ in plain):
            return self._tagged(plain, path)
        names = " | ".join(_name(type_) for type_ in plain)
        raise refused(
            path,
            f"{names}: a field has one type in Kubernetes; only int | str, numbers, Literals, Structs with a"
            " tag, and None beside any of them can stand together",
        )

    def _tagged(self, members: list[Any], path: str) -> Schema:
        """Return one object with the fields of all; `oneOf` says which of them belong together."""
        merged: Schema = {"type": "object", "properties": {}, "required": []}
        variants: list[Schema] = []
        tags: list[Any] = []
        known: list[Any] = []
        for member in members:
            field, value = tag_of(get_origin(member) or member) or ("", "")
            schema = self.object(member, path, tag=False)
            for name, one in schema.get("properties", {}).items():
                if merged["properties"].setdefault(name, one) != one:
                    raise refused(
                        child(path, name), f"the Structs with the tag {field!r} type it differently"
                    )
            if merged["required"] not in ([], [field]):
                raise refused(
                    path, f"the Structs have different tag fields: {merged['required'][0]!r}, {field!r}"
                )
            merged["required"] = [field]
            tags.append(value)
            known.append(schema.get("properties", {}))
            variants.append({"properties": {field: {"enum": [value]}}})
            if "required" in schema:
                variants[-1]["required"] = schema["required"]
        for name, one in merged["properties"].items():
            if not all(name in names for names in known):
                one.pop("default", None)  # otherwise it would be filled into the others as well
        merged["properties"] = {merged["required"][0]: _enum(tags, path), **merged["properties"]}
        merged["oneOf"] = variants
        return merged

    def _tuple(self, arguments: tuple[Any, ...], path: str) -> Schema:
        if not arguments:
            return {"type": "array", "items": _copy(_ANYTHING)}
        items = self.schema(arguments[0], f"{path}[]")
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": items}
        if any(other != arguments[0] for other in arguments):
            raise refused(path, "the elements of a list have one type in Kubernetes")
        return {"type": "array", "items": items, "minItems": len(arguments), "maxItems": len(arguments)}

    def _map(self, arguments: tuple[Any, ...], path: str) -> Schema:
        keys, values = arguments or (str, Any)
        keys, notes = unwrap(keys)
        is_text = keys in (str, Any) or (isinstance(keys, type) and issubclass(keys, str))
        if not is_text and not (get_origin(keys) is Literal and all(type(k) is str for k in get_args(keys))):
            raise refused(path, f"the keys of a map are strings, not {_name(keys)}")
        if any(isinstance(note, msgspec.Meta) for note in notes):
            raise refused(path, "Kubernetes cannot check the keys of a map; a Rule on the map can")
        if unwrap(values)[0] in (Any, object):
            return {"type": "object", **_ANYTHING}
        return {"type": "object", "additionalProperties": self.schema(values, f"{path}{{}}")}


def _enum(values: Sequence[Any], path: str) -> Schema:
    if any(value is None for value in values):
        schema = _enum([value for value in values if value is not None], path)
        schema["nullable"] = True
        _allow_null(schema)
        return schema
    kinds: set[Any] = {type(value) for value in values}
    values = list(dict.fromkeys(values))
    if kinds == {str}:
        return {"type": "string", "enum": values}
    if kinds == {int}:
        return {"type": "integer", "enum": values}
    if kinds == {int, str}:
        return {**_copy(_INT_OR_STRING), "enum": values}
    raise refused(path, f"an enum has strings or integers, not {values!r}")


def _allow_null(schema: Schema) -> None:
    """Move an enum into allOf: a server refuses null by any enum, even if nullable, but not by allOf."""
    if "enum" in schema:
        schema["allOf"] = [{"enum": schema.pop("enum")}]


def _forbid_null(schema: Schema) -> None:
    """Do the opposite, for a value that is never null."""
    match schema.get("allOf"):
        case [{"enum": values}]:
            del schema["allOf"]
            schema["enum"] = values
        case _:
            pass


def _name(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else str(type_).replace("typing.", "")


def _clean(doc: str) -> str:
    lines = doc.strip().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return "\n".join([lines[0], *(line[margin:].rstrip() for line in lines[1:])])


def _copy(schema: Mapping[str, Any]) -> Schema:
    copied: Schema = msgspec.to_builtins(schema)
    return copied
