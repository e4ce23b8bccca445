"""Spans: where the text of an unread object is.

Most are found without looking at the bytes around them: a line of a watch is noted as it was received, and
the object's own part of it is found when it is needed. Segments are immutable and never copied, so a span
stays valid forever and keeps its segment alive.
"""

from __future__ import annotations

from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Raw, Struct

from .._errors import InvalidObject
from ._reading import Reader, TooDeep
from ._scanning import elements, is_json, members

T = TypeVar("T")


class ListTexts:
    """The texts of the items of a page, which are cut out of it once one of them is needed."""

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
    """A line of a watch that was read to its last byte, where it was received: copying it costs too much."""

    segment: bytes
    start: int
    end: int


# Either a line of a watch that was read to its last byte: one event, with nothing in it but its type and one
# object (`WatchDecoder` makes sure), as a copy or in its place. Or (segment, start, end) for a line of which
# only the front was read, and (text, -1, -1) for the object's own bytes. Or the place of an item in a page.
Span: TypeAlias = bytes | LineInPlace | tuple[bytes, int, int] | ListedText
SPANS: Final[frozenset[type]] = frozenset((bytes, LineInPlace, tuple, ListedText))

# How API servers begin a line of a watch, by the letter that distinguishes the event types; any other
# spelling is read the slow way.
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
    """A line of a watch, read for its object only."""

    object: T


class _Items(Struct):
    items: list[Raw] | None = None


_read_items: Final = Reader[_Items](_Items).read
_read_line: Final = Reader[SpannedLine[Raw]](SpannedLine[Raw]).read


def whole(data: bytes) -> Span:
    """Return the span of an object's own bytes."""
    return (data, -1, -1)


def line_of(span: Span) -> bytes:
    """Return the line of a watch that a span is, without its line end, or the object's own bytes."""
    if isinstance(span, bytes):
        return span
    if isinstance(span, ListedText):
        return span.texts[span.index]
    segment, start, end = _place(span)
    return segment if start < 0 else segment[start:end].rstrip(b"\r")


def _place(span: LineInPlace | tuple[bytes, int, int]) -> tuple[bytes, int, int]:
    return span if isinstance(span, tuple) else (span.segment, span.start, span.end)


def plainly_copied(span: Span) -> bytes:
    """Return the object's own JSON if only the usual envelope surrounds it; b"" otherwise."""
    if isinstance(span, bytes):
        # Nothing else is in the line, so the object is what is between its prefix and its last brace.
        prefix = _PREFIXES.get(span[_TELLING])
        if prefix and span.startswith(prefix):
            if span.endswith(b"}}\n"):
                return span[len(prefix) : -2]
            if span.endswith(b"}}"):
                return span[len(prefix) : -1]
        return b""
    if isinstance(span, ListedText):
        return span.texts[span.index]
    segment, start, end = _place(span)
    if start < 0:
        return segment
    prefix = _PREFIXES.get(segment[start + _TELLING])
    if prefix and segment.startswith(prefix, start) and segment.endswith(b"}}", start, end):
        text = segment[start + len(prefix) : end - 1]
        # After a front all is read: a line looks the same at its end if another member with an object
        # follows, and bytes that were never read may not be JSON.
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
    """Return the JSON of the object in the line of an event."""
    try:
        return bytes(_read_line(line).object)
    except TooDeep:
        found = members(line).get("object")
    if found is None:
        raise InvalidObject("Object missing required field `object`")
    return bytes(found)
