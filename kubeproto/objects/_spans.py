"""Spans: the position of the text of an unread object.

Most spans need no search: a line of a watch is recorded as it was received, and the object's part of it is
searched on demand. Segments are immutable and never copied, so a span stays valid forever and keeps its
segment alive.
"""

from __future__ import annotations

from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Raw, Struct

from .._errors import InvalidObject
from ._reading import Reader, TooDeep
from ._scanning import elements, is_json, members

T = TypeVar("T")


class ListTexts:
    """The texts of the items of a page, which are split when an item is first needed."""

    __slots__ = ("_body", "_texts")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._texts: list[Raw] | None = None

    def __getitem__(self, index: int) -> bytes:
        if self._texts is None:
            self._texts = items_in(self._body)
        return bytes(self._texts[index])


class ListedText(Struct, frozen=True, gc=False):
    """An item of a page, by its index."""

    texts: ListTexts
    index: int


class LineInPlace(Struct, frozen=True, gc=False):
    """A completely read line of a watch in its received segment, because a copy costs too much."""

    segment: bytes
    start: int
    end: int


# A completely read line of a watch, whose event has only a type and an object (`WatchDecoder` ensures this),
# as a copy or in its segment; (segment, start, end) for a line with a read front; (text, -1, -1) for the
# object's own bytes; or an item of a page.
Span: TypeAlias = bytes | LineInPlace | tuple[bytes, int, int] | ListedText
SPANS: Final[frozenset[type]] = frozenset((bytes, LineInPlace, tuple, ListedText))

# The beginnings of lines of API servers, by the letter that distinguishes the event types; other spellings
# are read slowly.
_TYPE_OFFSET: Final = len(b'{"type":"')
_PREFIXES: Final = {
    prefix[_TYPE_OFFSET]: prefix
    for prefix in (
        b'{"type":"ADDED","object":',
        b'{"type":"MODIFIED","object":',
        b'{"type":"DELETED","object":',
    )
}


class SpannedLine(Struct, Generic[T]):
    """A line of a watch of which only the object is read."""

    object: T


class _Items(Struct):
    items: list[Raw] | None = None


_read_items: Final = Reader[_Items](_Items).read
_read_line: Final = Reader[SpannedLine[Raw]](SpannedLine[Raw]).read


def whole(data: bytes) -> Span:
    """Return the span of an object's own bytes."""
    return (data, -1, -1)


def line_of(span: Span) -> bytes:
    """Return the line of a span without its line end, or the object's own bytes."""
    if isinstance(span, bytes):
        return span
    if isinstance(span, ListedText):
        return span.texts[span.index]
    segment, start, end = _segment_bounds(span)
    return segment if start < 0 else segment[start:end].rstrip(b"\r")


def _segment_bounds(span: LineInPlace | tuple[bytes, int, int]) -> tuple[bytes, int, int]:
    return span if isinstance(span, tuple) else (span.segment, span.start, span.end)


def copy_plain(span: Span) -> bytes:
    """Return the object's own JSON if only the usual envelope surrounds it; b"" otherwise."""
    if isinstance(span, bytes):
        # The line has no other member, so the object is between its prefix and its last brace.
        prefix = _PREFIXES.get(span[_TYPE_OFFSET])
        if prefix and span.startswith(prefix):
            if span.endswith(b"}}\n"):
                return span[len(prefix) : -2]
            if span.endswith(b"}}"):
                return span[len(prefix) : -1]
        return b""
    if isinstance(span, ListedText):
        return span.texts[span.index]
    segment, start, end = _segment_bounds(span)
    if start < 0:
        return segment
    prefix = _PREFIXES.get(segment[start + _TYPE_OFFSET])
    if prefix and segment.startswith(prefix, start) and segment.endswith(b"}}", start, end):
        text = segment[start + len(prefix) : end - 1]
        # After a front the text is checked: a line with another member behind the object has the same end,
        # and unread bytes may not be JSON.
        if isinstance(span, LineInPlace) or is_json(text):
            return text
    return b""


def items_in(page: bytes) -> list[Raw]:
    """Return the JSON of each item of a list."""
    try:
        return _read_items(page).items or []
    except TooDeep:
        return elements(members(page).get("items", Raw(b"[]")))


def object_in(line: bytes) -> bytes:
    """Return the JSON of the object in an event's line."""
    try:
        return bytes(_read_line(line).object)
    except TooDeep:
        text = members(line).get("object")
    if text is None:
        raise InvalidObject("Object missing required field `object`")
    return bytes(text)
