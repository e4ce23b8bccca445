"""The fields of a class as they are in JSON: names, types with their annotations, defaults, tags."""

from __future__ import annotations

import typing
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct

from ...objects import Constant
from ...objects._shared import enc_hook

# Qualifiers of TypedDict's fields, which `__required_keys__` interprets. ReadOnly is newer than 3.11.
_QUALIFIERS: Final = tuple(
    getattr(typing, name) for name in ("Required", "NotRequired", "ReadOnly") if hasattr(typing, name)
)


class ClassField:
    """A field of a Struct, TypedDict or dataclass: its wire name, type, and default."""

    __slots__ = ("default", "name", "required", "type")

    def __init__(self, name: str, type_: Any, required: bool, default: Any) -> None:
        self.name = name
        self.type = type_
        self.required = required
        self.default = default


def unwrap(type_: Any) -> tuple[Any, list[Any]]:
    """Return a type without its wrappers (Annotated, NewType, aliases), and the annotations on them."""
    annotations: list[Any] = []
    while True:
        if get_origin(type_) is Annotated:
            annotations = [*type_.__metadata__, *annotations]
            type_ = type_.__origin__
        elif isinstance(type_, typing.NewType):
            type_ = type_.__supertype__
        elif get_origin(type_) in _QUALIFIERS:
            type_ = get_args(type_)[0]
        elif type(type_).__name__ == "TypeAliasType":
            type_ = type_.__value__
        else:
            return type_, annotations


def tag_of(cls: Any) -> tuple[str, Any] | None:
    """Return the field and value by which msgspec distinguishes this Struct from others in a union."""
    config = getattr(cls, "__struct_config__", None)
    return None if config is None or config.tag is None else (config.tag_field, config.tag)


def fields_of(type_: Any) -> list[ClassField] | None:
    """Return the fields of a Struct, TypedDict or dataclass by wire name; None for any other type."""
    cls: Any = get_origin(type_) or type_
    if is_struct(cls):
        return [_struct_field(field) for field in msgspec.structs.fields(type_)]
    if hasattr(cls, "__required_keys__"):
        hints = typing.get_type_hints(cls, include_extras=True)
        return [ClassField(name, hint, _is_required(cls, name, hint), UNSET) for name, hint in hints.items()]
    if hasattr(cls, "__dataclass_fields__"):
        hints = typing.get_type_hints(cls, include_extras=True)
        return [_dataclass_field(cls, name, hints[name]) for name in cls.__dataclass_fields__]
    return None


def _is_required(cls: Any, name: str, hint: Any) -> bool:
    # With `from __future__ import annotations` the annotations are strings, which the class has not
    # evaluated.
    while get_origin(hint) in (Annotated, *_QUALIFIERS):
        if get_origin(hint) in (typing.Required, typing.NotRequired):
            return get_origin(hint) is typing.Required
        hint = get_args(hint)[0]
    return name in cls.__required_keys__


def is_struct(cls: Any) -> bool:
    """Return whether this is a Struct's class."""
    return isinstance(cls, type) and issubclass(cls, Struct)


def _struct_field(field: msgspec.structs.FieldInfo) -> ClassField:
    default: Any = UNSET
    if field.default is not msgspec.NODEFAULT:
        default = field.default
    elif isinstance(factory := field.default_factory, (Constant, type)):
        # Any other factory may return a different value each time, which cannot be a default for a server.
        default = factory()  # pyright: ignore[reportUnknownVariableType] # the class of a field is any class
    return ClassField(field.encode_name, field.type, field.required, _to_json(default))


def _dataclass_field(cls: Any, name: str, hint: Any) -> ClassField:
    field = cls.__dataclass_fields__[name]
    missing = type(field.default).__name__ == "_MISSING_TYPE"
    required = missing and type(field.default_factory).__name__ == "_MISSING_TYPE"
    return ClassField(name, hint, required, UNSET if missing else _to_json(field.default))


def _to_json(default: Any) -> Any:
    if default is UNSET:
        return default
    # Encoded and decoded, because a tuple is a list in JSON.
    return msgspec.json.decode(msgspec.json.encode(default, enc_hook=enc_hook))
