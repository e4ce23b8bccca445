"""Fields of a JSON value that its class does not declare: mostly mistyped names."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Union, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields

from ._depths import Dynamic, Metadata
from ._json_values import is_list, is_object
from ._object_meta import ObjectMeta

Path = tuple[str | int, ...]

_LIST_TYPES: Final = (list, tuple, set, frozenset, Sequence)
_MAP_TYPES: Final = (dict, Mapping)
# Their class describes only the metadata.
_OPEN: Final = (Dynamic, Metadata)


def unknown_fields(type_: Any, value: Any) -> Iterator[Path]:
    """Return the paths of all members for which the type has no field, in their order."""
    origin, arguments = _split_type(type_)
    if is_object(value):
        yield from _in_object(type_, origin, arguments, value)
    elif is_list(value) and origin in _LIST_TYPES and arguments:
        for index, element in enumerate(value):
            yield from _unknown_below(arguments[0], index, element)


def _in_object(type_: Any, origin: Any, arguments: tuple[Any, ...], value: dict[str, Any]) -> Iterator[Path]:
    if origin in _OPEN:
        yield from _unknown_below(ObjectMeta, "metadata", value.get("metadata"))
    elif isinstance(origin, type) and issubclass(origin, Struct):
        field_types = _field_types(type_)
        for name, member in value.items():
            if name in field_types:
                yield from _unknown_below(field_types[name], name, member)
            else:
                yield (name,)
    elif origin in _MAP_TYPES and len(arguments) == 2:
        for name, member in value.items():
            yield from _unknown_below(arguments[1], name, member)


def _unknown_below(type_: Any, step: str | int, value: Any) -> Iterator[Path]:
    for path in unknown_fields(type_, value):
        yield (step, *path)


def _split_type(type_: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the class and the arguments of a type; for a union with None, those of the other member."""
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        present = [member for member in arguments if member is not types.NoneType]
        # In other unions the value determines the member, not the type, so that no field counts as unknown.
        return _split_type(present[0]) if len(present) == 1 else (None, ())
    return origin or type_, arguments


@lru_cache(maxsize=1024)
def _field_types(type_: Any) -> dict[str, Any]:
    types = {field.encode_name: field.type for field in fields(type_)}
    config = (get_origin(type_) or type_).__struct_config__
    return types | ({config.tag_field: str} if config.tag_field else {})
