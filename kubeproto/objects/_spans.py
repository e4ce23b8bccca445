"""Spans: the positions of the texts of unread objects.

The span of an event is its line; the text of the object in the line is found when it is needed. Segments are
immutable and never copied, so a span stays valid, and keeps its segment in memory.
"""

from __future__ import annotations

from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Raw, Struct

from .._errors import InvalidObject
from ._json_reader import Reader, TooDeep
from ._scanning import is_json, split_array, split_object

T = TypeVar("T")


class PageItems:
    """The items of a page as JSON. The page is split when the first item is needed.

    Splitting each page immediately would take 47 % more time for a page of 500 objects (0.5 KB each).
    """

    __slots__ = ("_body", "_items")

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._items: list[Raw] | None = None

    def __getitem__(self, index: int) -> bytes:
        if self._items is None:
            self._items = split_items(self._body)
        return bytes(self._items[index])


class PageItem(Struct, frozen=True, gc=False):
    """An item of a page, by its index."""

    items: PageItems
    index: int


class LineInPlace(Struct, frozen=True, gc=False):
    """A line of a watch that was read completely, in its received segment: a copy would cost too much."""

    segment: bytes
    start: int
    end: int


# - bytes, `LineInPlace`: a line of a watch that was read completely, and has only a type and an object
#   (`WatchDecoder` ensures this), as a copy or in its segment;
# - (segment, start, end): a line of which only the identity prefix was read;
# - (text, -1, -1): the object's own bytes;
# - `PageItem`: an item of a page.
Span: TypeAlias = bytes | LineInPlace | tuple[bytes, int, int] | PageItem
SPANS: Final[frozenset[type]] = frozenset((bytes, LineInPlace, tuple, PageItem))

# The beginnings of lines as API servers write them, by the letter that distinguishes the event types. The
# objects in other lines are found slowly.
_TYPE_OFFSET: Final = len(b'{"type":"')
_PREFIXES: Final = {
    prefix[_TYPE_OFFSET]: prefix
    for prefix in (
        b'{"type":"ADDED","object":',
        b'{"type":"MODIFIED","object":',
        b'{"type":"DELETED","object":',
    )
}


class ObjectLine(Struct, Generic[T]):
    """A line of a watch; only its object is read."""

    object: T


class _Items(Struct):
    items: list[Raw] | None = None


_read_items: Final = Reader[_Items](_Items).read
_read_line: Final = Reader[ObjectLine[Raw]](ObjectLine[Raw]).read


def span_of_object(data: bytes) -> Span:
    """Return the span of an object's own bytes."""
    return (data, -1, -1)


def line_of(span: Span) -> bytes:
    """Return the line of a span without its line end, or the object's own bytes."""
    if isinstance(span, bytes):
        return span
    if isinstance(span, PageItem):
        return span.items[span.index]
    segment, start, end = _segment_bounds(span)
    return segment if start < 0 else segment[start:end].rstrip(b"\r")


def _segment_bounds(span: LineInPlace | tuple[bytes, int, int]) -> tuple[bytes, int, int]:
    return span if isinstance(span, tuple) else (span.segment, span.start, span.end)


def strip_envelope(span: Span) -> bytes:
    """Return the JSON of the object without the envelope; b"" if the envelope is not the usual one.

    Finding the object by decoding the envelope would double the time for an event and its text (0.5 KB).
    """
    if isinstance(span, bytes):
        # The line has no other member, so the object is between its prefix and its last brace.
        prefix = _PREFIXES.get(span[_TYPE_OFFSET])
        if prefix and span.startswith(prefix):
            if span.endswith(b"}}\n"):
                return span[len(prefix) : -2]
            if span.endswith(b"}}"):
                return span[len(prefix) : -1]
        return b""
    if isinstance(span, PageItem):
        return span.items[span.index]
    segment, start, end = _segment_bounds(span)
    if start < 0:
        return segment
    prefix = _PREFIXES.get(segment[start + _TYPE_OFFSET])
    if prefix and segment.startswith(prefix, start) and segment.endswith(b"}}", start, end):
        text = segment[start + len(prefix) : end - 1]
        # After an identity prefix the text is checked: a line with another member after the object has the
        # same end, and the unread bytes may not be JSON.
        if isinstance(span, LineInPlace) or is_json(text):
            return text
    return b""


def split_items(page: bytes) -> list[Raw]:
    """Return the JSON of each item of a list."""
    try:
        return _read_items(page).items or []
    except TooDeep:
        return split_array(split_object(page).get("items", Raw(b"[]")))


def extract_object(line: bytes) -> bytes:
    """Return the JSON of the object in an event's line."""
    try:
        return bytes(_read_line(line).object)
    except TooDeep:
        text = split_object(line).get("object")
    if text is None:
        raise InvalidObject("Object missing required field `object`")
    return bytes(text)
