"""`Reader`: the only module that decodes foreign bytes.

msgspec has three ways to refuse bytes: its own error, `UnicodeDecodeError` for invalid UTF-8, and
`RecursionError` for values that are nested more deeply than the interpreter's stack allows. A caller that
catches only a single type misses the others, and a server, or a tenant of it, determines the type. So all
three become an `InvalidObject` here, and a test ensures that nothing else calls msgspec on such bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec import Raw

from .._errors import InvalidObject
from ._json_hooks import decoder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

_NOT_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class TooDeep(InvalidObject):
    """JSON that is nested more deeply than msgspec can follow: 1,000 levels on Python 3.11."""


class Reader(Generic[T]):
    """Reads JSON as a type; raise `InvalidObject`, or its subclass `TooDeep`, if a value does not fit."""

    # Two readers read each event of a controller; a slot is faster than the attribute of an instance dict.
    __slots__ = ("_decode", "_decoder", "_owner", "_type")

    def __init__(self, type_: Any, owner: str = "") -> None:
        """`owner` is the class in errors about an annotation that cannot be resolved."""
        self._type = type_
        self._owner = owner or getattr(type_, "__qualname__", str(type_))
        self._decoder: Any = None
        self._decode: Callable[[Any], Any] = self._decode_first

    def prepare(self) -> Reader[T]:
        """Resolve the annotations, and return this reader; raise `TypeError` if that is impossible."""
        if self._decoder is None:
            self._decoder = decoder_of(self._type, self._owner)
            self._decode = self._decoder.decode
        return self

    def _decode_first(self, data: Any) -> Any:
        # The decoder is created on first use: most modules that read JSON have readers that a program never
        # needs.
        return self.prepare()._decode(data)

    def read(self, data: bytes | memoryview | Raw) -> T:
        """Return the value in the bytes."""
        try:
            # No `cast`: its call costs a tenth of reading a small value. Calling the local variable avoids
            # the search for a method of this name.
            decode = self._decode
            value: T = decode(data)
            return value
        except _NOT_JSON as error:
            problem = _to_invalid_object(error)
        raise problem

    def read_each(self, data: Iterable[bytes]) -> list[T]:
        """Return the value of each of these byte strings."""
        try:
            return list(map(self.prepare()._decode, data))
        except _NOT_JSON as error:
            problem = _to_invalid_object(error)
        raise problem

    def read_lines(self, data: bytes | memoryview) -> list[T]:
        """Return consecutive values, with any whitespace between them."""
        try:
            return cast("list[T]", self.prepare()._decoder.decode_lines(data))
        except _NOT_JSON as error:
            problem = _to_invalid_object(error)
        raise problem


def _to_invalid_object(error: Exception) -> InvalidObject:
    # Raised outside the handler: a traceback of many levels, or a UnicodeDecodeError, which holds the whole
    # text, must not be attached to an error that may be logged.
    match error:
        case RecursionError():
            return TooDeep("it is nested too deeply (maximum recursion depth exceeded)")
        case UnicodeDecodeError():
            return InvalidObject(f"it is not UTF-8: byte {error.object[error.start]:#04x}")
        case _:
            return InvalidObject(str(error))


_readers: Final[dict[Any, Reader[Any]]] = {}


def reader_of(type_: Any) -> Reader[Any]:
    """Return the reader of a type, which is created once."""
    existing = _readers.get(type_)
    if existing is None:
        existing = _readers[type_] = Reader[Any](type_).prepare()
    return existing
