"""Spans: where the text of an object is that has not been read yet.

A span is a line of a watch inside a longer run of bytes, or the bytes of an object alone. Segments are
immutable and never copied, so a span stays valid for ever and keeps its segment alive; `copied` copies out.
"""

from __future__ import annotations

from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Raw, Struct

from .._errors import InvalidObject
from ._reading import Reader, TooDeep
from ._scanning import is_json, members

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


class SpannedLine(Struct, Generic[T]):
    """A line of a watch, for its object alone."""

    object: T


_read_line: Final = Reader[SpannedLine[Raw]](SpannedLine[Raw]).read


def whole(data: bytes) -> Span:
    """Return the span of an object's own bytes."""
    return (UNREAD, data, -1, -1)


def line_of(span: Span) -> bytes:
    """Return the line of a watch that a span is, without its end, or the object's own bytes."""
    _, segment, start, end = span
    return segment if start < 0 else segment[start:end].rstrip(b"\r")


def plainly_copied(span: Span) -> bytes:
    """Return the object's own JSON where only the usual envelope is around it; b"" if that is not so.

    All of it is looked at. A line ends alike if another member with an object follows the one that is meant,
    and bytes that were never read may be no JSON at all.
    """
    _, segment, start, end = span
    if start < 0:
        return segment
    prefix = _PREFIXES.get(segment[start + _TELLING])
    if prefix and segment.startswith(prefix, start) and segment.endswith(b"}}", start, end):
        text = segment[start + len(prefix) : end - 1]
        if is_json(text):
            return text
    return b""


def object_in(line: bytes) -> bytes:
    """Return the object in the line of an event, as it stands there."""
    try:
        return bytes(_read_line(line).object)
    except TooDeep:
        found = members(line).get("object")
    if found is None:
        raise InvalidObject("Object missing required field `object`")
    return bytes(found)
