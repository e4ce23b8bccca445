"""From a Python type to the structural schema of a custom resource.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/

Every level has a `type`, or preserves unknown fields. A field with a default is optional, and its schema has
the default, unless the default is None: None is never sent, so the field is absent.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from ...objects import Duration, KubeObject, MicroTime, ObjectMeta, Quantity
from .._violations import child
from ._annotations import add_constraints, add_marker, schema_error
from ._class_fields import ClassField, fields_of, tag_of, unwrap

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
    type(None): "no schema describes a value that can only be null",
    complex: "JSON has no complex numbers",
}
_LISTS: Final = (list, Sequence)
_SETS: Final = (set, frozenset, AbstractSet)
_MAPS: Final = (dict, Mapping)
# Like the format byte, but it allows the empty string, which a server does not accept as base64.
_BASE64_OR_EMPTY: Final = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
# Metadata of an embedded object, as controller-gen writes it: the fields that users set. Others are pruned.
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
# The server defines these fields; a schema must not describe them.
_IDENTITY: Final = ("apiVersion", "kind", "metadata")


def schema_of(type_: Any) -> Schema:
    """Return the structural schema of a type; for a kind, the schema of its objects."""
    return _SchemaBuilder().schema(type_, "")


class _SchemaBuilder:
    """Visits a type and the types inside it. Records the enclosing classes, to detect recursion."""

    def __init__(self) -> None:
        self.enclosing: dict[Any, str] = {}  # the path at which each begins

    def schema(self, type_: Any, path: str) -> Schema:
        type_, annotations = unwrap(type_)
        schema = self._build_without_annotations(type_, path)
        for annotation in annotations:
            if isinstance(annotation, msgspec.Meta):
                try:
                    add_constraints(schema, annotation, get_origin(type_) or type_)
                except (ValueError, KeyError) as error:
                    raise schema_error(path, str(error)) from None
            else:
                add_marker(schema, annotation, path)
        return schema

    def _build_without_annotations(self, type_: Any, path: str) -> Schema:
        origin, arguments = get_origin(type_), get_args(type_)
        if type_ in (list, set, frozenset, tuple, dict):
            origin, arguments = type_, ()
        if origin in (Union, types.UnionType):
            return self._build_union(arguments, path)
        if origin is Literal:
            return _build_enum(arguments, path)
        if origin in _LISTS:
            return {"type": "array", "items": self.schema(arguments[0] if arguments else Any, f"{path}[]")}
        if origin in _SETS:
            items = self.schema(arguments[0] if arguments else Any, f"{path}[]")
            return {"type": "array", "x-kubernetes-list-type": "set", "items": items}
        if origin is tuple:
            return self._build_tuple(arguments, path)
        if origin in _MAPS:
            return self._build_map(arguments, path)
        if isinstance(type_, typing.TypeVar):
            return self.schema(type_.__bound__ or Any, path)
        if type_ in _REFUSED:
            raise schema_error(path, f"{_name(type_)}: {_REFUSED[type_]}")
        if type_ in _SCALARS:
            return _copy(_SCALARS[type_])
        if isinstance(type_, type) and issubclass(type_, enum.Enum):
            return _build_enum(tuple(member.value for member in type_), path)
        if type_ is ObjectMeta:
            return _copy(_METADATA)
        if fields_of(type_) is not None:
            return self.object(type_, path)
        raise schema_error(path, f"no schema of Kubernetes describes {_name(type_)}")

    def object(self, type_: Any, path: str, tag: bool = True) -> Schema:
        """Return the schema of a class with fields, each with its own schema."""
        cls = get_origin(type_) or type_
        if type_ in self.enclosing:
            raise schema_error(
                path,
                f"{_name(type_)} contains itself (it begins at {self.enclosing[type_] or 'the top'}), and"
                " Kubernetes has no recursive schemas; give the inner field the type Any",
            )
        if getattr(cls, "__struct_config__", None) is not None and cls.__struct_config__.array_like:
            raise schema_error(
                path,
                f"{_name(type_)} is array_like, so its JSON is a list of several types; remove array_like",
            )
        self.enclosing[type_] = path
        schema: Schema = {"type": "object"}
        if cls.__doc__ and "__doc__" in vars(cls) and not cls.__doc__.startswith(f"{cls.__name__}("):
            schema["description"] = _dedent(cls.__doc__)
        properties: dict[str, Schema] = {}
        required_names: list[str] = []
        if tag and (field_and_tag := tag_of(cls)) is not None:
            tag_field, tag_value = field_and_tag
            properties[tag_field] = _build_enum((tag_value,), child(path, tag_field))
            required_names.append(tag_field)
        for field in fields_of(type_) or ():
            if issubclass(cls, KubeObject) and (field.name in _IDENTITY or field.name == "-"):
                continue
            properties[field.name] = self.property(field, child(path, field.name))
            if field.required:
                required_names.append(field.name)
        if properties:
            schema["properties"] = properties
        if required_names:
            schema["required"] = required_names
        for rule in getattr(cls, "__rules__", ()):
            add_marker(schema, rule, path)
        del self.enclosing[type_]
        return schema

    def property(self, field: ClassField, path: str) -> Schema:
        schema = self.schema(field.type, path)
        if field.default is None and not field.required:
            if schema.pop("nullable", False):  # None is never sent, so null need not be allowed
                _forbid_null(schema)
        elif field.default is not UNSET:
            schema["default"] = field.default
            if field.default == "" and schema.get("format") == "byte":
                del schema["format"]
                schema["pattern"] = _BASE64_OR_EMPTY
        return schema

    def _build_union(self, members: Sequence[Any], path: str) -> Schema:
        types_ = [member for member in members if member not in (type(None), UnsetType)]
        schema = self.schema(types_[0], path) if len(types_) == 1 else self._build_alternatives(types_, path)
        if type(None) in members:
            schema["nullable"] = True
            _allow_null(schema)
        return schema

    def _build_alternatives(self, members: list[Any], path: str) -> Schema:
        types_ = [unwrap(member)[0] for member in members]
        if any(type_ in (Any, object, msgspec.Raw) for type_ in types_):
            return _copy(_ANYTHING)
        if set(types_) == {int, str}:
            return _copy(_INT_OR_STRING)
        if set(types_) == {int, float}:
            return self.schema(float, path)
        if all(get_origin(type_) is Literal for type_ in types_):
            return _build_enum([value for type_ in types_ for value in get_args(type_)], path)
        if all(tag_of(get_origin(type_) or type_) is not None for type_ in types_):
            return self._build_tagged_union(types_, path)
        names = " | ".join(_name(type_) for type_ in types_)
        raise schema_error(
            path,
            f"{names}: a field has only one type in Kubernetes; a union may have int | str, numbers,"
            " Literals or Structs with a tag, each with or without None",
        )

    def _build_tagged_union(self, members: list[Any], path: str) -> Schema:
        """Return the schema of an object with the fields of all; its `oneOf` lists the fields of each tag."""
        merged: Schema = {"type": "object", "properties": {}, "required": []}
        variants: list[Schema] = []
        tags: list[Any] = []
        member_properties: list[Any] = []
        for member in members:
            field, value = tag_of(get_origin(member) or member) or ("", "")
            schema = self.object(member, path, tag=False)
            for name, property_ in schema.get("properties", {}).items():
                if merged["properties"].setdefault(name, property_) != property_:
                    raise schema_error(
                        child(path, name), f"the Structs with the tag {field!r} give it different types"
                    )
            if merged["required"] not in ([], [field]):
                raise schema_error(
                    path, f"the Structs have different tag fields: {merged['required'][0]!r}, {field!r}"
                )
            merged["required"] = [field]
            tags.append(value)
            member_properties.append(schema.get("properties", {}))
            variants.append({"properties": {field: {"enum": [value]}}})
            if "required" in schema:
                variants[-1]["required"] = schema["required"]
        for name, property_ in merged["properties"].items():
            if not all(name in properties for properties in member_properties):
                property_.pop("default", None)  # a server would add it to the other Structs as well
        merged["properties"] = {merged["required"][0]: _build_enum(tags, path), **merged["properties"]}
        merged["oneOf"] = variants
        return merged

    def _build_tuple(self, arguments: tuple[Any, ...], path: str) -> Schema:
        if not arguments:
            return {"type": "array", "items": _copy(_ANYTHING)}
        items = self.schema(arguments[0], f"{path}[]")
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": items}
        if any(argument != arguments[0] for argument in arguments):
            raise schema_error(path, "all elements of a list have the same type in Kubernetes")
        return {"type": "array", "items": items, "minItems": len(arguments), "maxItems": len(arguments)}

    def _build_map(self, arguments: tuple[Any, ...], path: str) -> Schema:
        keys, values = arguments or (str, Any)
        keys, annotations = unwrap(keys)
        is_string = keys in (str, Any) or (isinstance(keys, type) and issubclass(keys, str))
        if not is_string and not (
            get_origin(keys) is Literal and all(type(k) is str for k in get_args(keys))
        ):
            raise schema_error(path, f"the keys of a map are strings, not {_name(keys)}")
        if any(isinstance(annotation, msgspec.Meta) for annotation in annotations):
            raise schema_error(path, "Kubernetes cannot check the keys of a map; use a Rule on the map")
        if unwrap(values)[0] in (Any, object):
            return {"type": "object", **_ANYTHING}
        return {"type": "object", "additionalProperties": self.schema(values, f"{path}{{}}")}


def _build_enum(values: Sequence[Any], path: str) -> Schema:
    if any(value is None for value in values):
        schema = _build_enum([value for value in values if value is not None], path)
        schema["nullable"] = True
        _allow_null(schema)
        return schema
    value_types: set[Any] = {type(value) for value in values}
    values = list(dict.fromkeys(values))
    if value_types == {str}:
        return {"type": "string", "enum": values}
    if value_types == {int}:
        return {"type": "integer", "enum": values}
    if value_types == {int, str}:
        return {**_copy(_INT_OR_STRING), "enum": values}
    raise schema_error(path, f"the values of an enum are strings or integers, not {values!r}")


def _allow_null(schema: Schema) -> None:
    """Move an enum into allOf: a server refuses null if the schema has an enum, even if it is nullable."""
    if "enum" in schema:
        schema["allOf"] = [{"enum": schema.pop("enum")}]


def _forbid_null(schema: Schema) -> None:
    """Move an enum out of allOf, for a value that is never null."""
    match schema.get("allOf"):
        case [{"enum": values}]:
            del schema["allOf"]
            schema["enum"] = values
        case _:
            pass


def _name(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else str(type_).replace("typing.", "")


def _dedent(doc: str) -> str:
    lines = doc.strip().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return "\n".join([lines[0], *(line[margin:].rstrip() for line in lines[1:])])


def _copy(schema: Mapping[str, Any]) -> Schema:
    copy: Schema = msgspec.to_builtins(schema)
    return copy
