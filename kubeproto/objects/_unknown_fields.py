"""The names in a JSON value that its class does not declare: mistyped fields, most often."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Union, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields

from ._depths import Dynamic, Metadata
from ._meta import ObjectMeta
from ._pointers import is_list, is_object

Path = tuple[str | int, ...]

_LISTS: Final = (list, tuple, set, frozenset, Sequence)
_MAPS: Final = (dict, Mapping)
# Their class describes only the metadata.
_OPEN: Final = (Dynamic, Metadata)


def unknown_fields(type_: Any, value: Any) -> Iterator[Path]:
    """Return the paths of all members for which the type has no field, in their order."""
    origin, arguments = _taken_apart(type_)
    if is_object(value):
        yield from _in_object(type_, origin, arguments, value)
    elif is_list(value) and origin in _LISTS and arguments:
        for index, element in enumerate(value):
            yield from _below(arguments[0], index, element)


def _in_object(type_: Any, origin: Any, arguments: tuple[Any, ...], value: dict[str, Any]) -> Iterator[Path]:
    if origin in _OPEN:
        yield from _below(ObjectMeta, "metadata", value.get("metadata"))
    elif isinstance(origin, type) and issubclass(origin, Struct):
        known = _field_types(type_)
        for name, below in value.items():
            if name in known:
                yield from _below(known[name], name, below)
            else:
                yield (name,)
    elif origin in _MAPS and len(arguments) == 2:
        for name, below in value.items():
            yield from _below(arguments[1], name, below)


def _below(type_: Any, step: str | int, value: Any) -> Iterator[Path]:
    for path in unknown_fields(type_, value):
        yield (step, *path)


def _taken_apart(type_: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the class and the arguments of a type; for a union with None, those of the other member."""
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        present = [one for one in arguments if one is not types.NoneType]
        # For another union the value decides which member is meant, not the type: nothing counts as unknown
        # then.
        return _taken_apart(present[0]) if len(present) == 1 else (None, ())
    return origin or type_, arguments


@lru_cache(maxsize=1024)
def _field_types(type_: Any) -> dict[str, Any]:
    known = {field.encode_name: field.type for field in fields(type_)}
    config = (get_origin(type_) or type_).__struct_config__
    return known | ({config.tag_field: str} if config.tag_field else {})
