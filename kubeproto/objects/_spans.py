"""Spans: where the text of an object stands that has not been read yet.

A span is a line of a watch inside a longer run of bytes, or the bytes of an object alone. Segments are
immutable and never copied, so a span stays valid for ever and keeps its segment alive; `text_of` copies out.
"""

from __future__ import annotations

from typing import Final, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

T = TypeVar("T")


class Unread:
    """Stands in each span so that no encoder takes it for a value."""

    __slots__ = ()


UNREAD: Final = Unread()

# (UNREAD, segment, start, end) for a line of a watch, (UNREAD, data, -1, -1) for the object's own bytes.
Span: TypeAlias = tuple[Unread, bytes, int, int]

# How API servers begin a line of a watch, by the letter that tells the event's type; any other spelling is
# read the slow way.
_TELLING: Final = len(b'{"type":"')
_PREFIXES: Final = {
    prefix[_TELLING]: prefix
    for prefix in (
        b'{"type":"ADDED","object":',
        b'{"type":"MODIFIED","object":',
        b'{"type":"DELETED","object":',
    )
}


class Line(Struct, Generic[T]):
    """A line of a watch, for its object alone."""

    object: T


_read_line: Final = msgspec.json.Decoder(Line[Raw]).decode


def whole(data: bytes) -> Span:
    """The span of an object's own bytes."""
    return (UNREAD, data, -1, -1)


def text_of(span: Span) -> bytes:
    """The object's own JSON as it came: a copy that keeps nothing else alive."""
    _, segment, start, end = span
    if start < 0:
        return segment
    prefix = _PREFIXES.get(segment[start + _TELLING])
    if prefix and segment.startswith(prefix, start) and segment.endswith(b"}}", start, end):
        return segment[start + len(prefix) : end - 1]
    return bytes(_read_line(segment[start:end]).object)
