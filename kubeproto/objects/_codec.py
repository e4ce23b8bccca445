"""JSON in and out for every depth of typing, with the values that msgspec does not know by itself."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from .._errors import InvalidObject

T = TypeVar("T")


def decode(data: bytes | memoryview, type_: type[T]) -> T:
    """Read one JSON value as this type; what does not fit is an `InvalidObject`."""
    try:
        return msgspec.json.decode(data, type=type_)
    except msgspec.MsgspecError as error:
        raise InvalidObject(f"{getattr(type_, '__name__', type_)}: {error}") from None


def encode(value: Any) -> bytes:
    """The JSON that is sent for this value."""
    return msgspec.json.encode(value)
