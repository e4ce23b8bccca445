"""`ListDecoder`: decodes a list into objects while its long body is still arriving.

Items are cut out of the stream. The end of an item is guessed from the bytes between two items, and decoding
verifies the guess. All items that a chunk completes are read with a single call, up to the last such end. If
that fails, they are read separately; and if the guess was wrong (because an item contains text that looks
like an item), brackets are counted instead. Every byte of the returned items has been read.
"""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar

import msgspec

from .._errors import InvalidObject, RemoteProtocolError
from .._patterns import Pattern
from ..objects import KubeObject, ListMeta, Resource
from ..objects._shared import Malformed, is_json
from ..wire import Headers, open_inflater
from ._item_reader import ItemReader, Page, read_raw_page
from ._line_buffer import MAX_LINE
from ._odd_lines import ErrorBody, check_content_type
from ._watch_events import WatchFailed

K = TypeVar("K", bound=KubeObject)

# Strings are skipped: a bracket inside a string does not count.
_BRACKETS: Final = Pattern(rb'"(?:[^"\\]+|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_CLOSING: Final = ord("}")
_WHITESPACE: Final = Pattern(rb"[ \t\r\n]*")
_FIRST_KEY: Final = Pattern(rb'\{"[^"\\]*":')

# An item of this size without a separator after it is unusual, or the form of its list is not that of a
# server.
_MAX_USUAL_ITEM: Final = 1024 * 1024


class ListDecoder(Generic[K]):
    """Decodes a list that arrives in pieces. `feed` returns the complete items.

    It holds no more memory than a chunk and an item. `metadata` is complete after `finish`, because lists of
    custom resources end with their metadata. With a status outside 2xx the whole body becomes a
    `WatchFailed`.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        strict: bool = False,
        resource: Resource | None = None,
        status: int = 200,
        headers: Headers = (),
        max_item: int = MAX_LINE,
    ) -> None:
        self.metadata = ListMeta()
        self._items = ItemReader(kind, strict=strict, resource=resource)
        self._max_item = max_item
        self._error_body = None if 200 <= status < 300 else ErrorBody(status, headers)
        self._inflater = open_inflater(() if self._error_body else headers)
        if self._error_body is None:
            check_content_type(headers, f"the list of {self._items.name}")
        self._page: Page | None = None  # None until the items begin
        self._pieces: list[bytes] = []
        self._size = 0
        self._next_size = 0
        self._separator = b""
        self._has_items = False  # whether an item was returned

    def feed(self, chunk: bytes) -> list[K | Malformed | WatchFailed]:
        """Take the next bytes; return the items that are complete."""
        if self._error_body is not None:
            self._error_body.feed(chunk)
            return []
        text = self._inflater.feed(chunk)
        self._pieces.append(text)
        self._size += len(text)
        return self._take_items() if self._size >= self._next_size else []

    def _take_items(self) -> list[K | Malformed | WatchFailed]:
        text = b"".join(self._pieces)
        items: list[K | Malformed | WatchFailed] = []
        start = self._begin(text) if self._page is None else 0
        if self._page is not None:
            start = self._cut_items(text, start, items)
        self._pieces = [text[start:]]
        self._size = size = len(text) - start
        if size > self._max_item:
            raise RemoteProtocolError(
                f"an item of a list has grown to {size} bytes; the limit is {self._max_item}"
            )
        # A long item is read again when it has grown by a quarter: small chunks would make it quadratic.
        self._next_size = min(size + size // 4, self._max_item + 1)
        return items

    def finish(self) -> list[K | Malformed | WatchFailed]:
        """Handle the end of the body: read the metadata of the list, and return the last item."""
        if self._error_body is not None:
            return [self._error_body.to_event()]
        self._inflater.finish()
        tail = b"".join(self._pieces)
        self._pieces = []
        text = tail if self._page is None else b'{"items":[' + tail
        try:
            last = read_raw_page(text)
        except InvalidObject as error:
            raise RemoteProtocolError(f"the list of {self._items.name} ended early: {error}") from None
        if self._has_items and not last.items:
            raise RemoteProtocolError(f"the list of {self._items.name} ended after a comma")
        if (page := self._page) is not None:
            last.kind, last.api_version = last.kind or page.kind, last.api_version or page.api_version
        if page is None or last.metadata != ListMeta():
            self.metadata = last.metadata
        return [*self._items.read_all([bytes(raw) for raw in self._items.items_of(last)])]

    def _begin(self, text: bytes) -> int:
        """Return the offset of the first item, after the kind and usually the metadata of the list; 0 if
        unknown."""
        depth = 0
        for token in _BRACKETS.finditer(text):
            if token[0] in (b"]", b"}"):
                depth -= 1
            elif token[0] in (b"[", b"{"):
                depth += 1
                start = token.end()
                if depth == 2 and text.endswith(b'"items":[', 0, start):
                    try:
                        page = read_raw_page(text[:start] + b"]}")
                    except InvalidObject:
                        break
                    if page.items is not msgspec.UNSET:  # otherwise the key only ends in "items"
                        self._items.items_of(page)
                        self._page = page
                        self.metadata = page.metadata
                        return start
        return 0

    def _cut_items(self, text: bytes, start: int, items: list[Any]) -> int:
        """Append the items from this offset on; return the offset of the first incomplete item."""
        start = self._cut_many(text, start, items)
        regular = True
        while True:
            end = self._find_separator(text, start) if regular else -1
            regular = end >= 0
            item = self._read(text[start:end]) if regular and text[end - 1] == _CLOSING else None
            if item is None:
                if not regular and len(text) - start < _MAX_USUAL_ITEM:
                    return start
                start, end = _find_end(text, start)
                if end < 0:
                    return start
                item = self._read(text[start:end])
                if item is None:
                    raise RemoteProtocolError(f"not a list of {self._items.name}: an item is not JSON")
                end = _skip_whitespace(text, end)
                if text[end : end + 1] != b",":
                    return start
            items.append(item)
            self._has_items = True
            start = end + 1

    def _cut_many(self, text: bytes, start: int, items: list[Any]) -> int:
        """Read all items up to the last separator in a single call; return the offset of the next item.

        A search for each separator would take a sixth more time, and a call for each item another sixth.
        """
        end = text.rfind(self._separator, start) if self._has_separator(text, start) else -1
        if end < 0 or (complete := self._items.read_many(text, start, end)) is None:
            return start
        items += complete
        self._has_items = True
        return end + 1

    def _find_separator(self, text: bytes, start: int) -> int:
        """Return the offset of the next separator, or -1."""
        return text.find(self._separator, start) if self._has_separator(text, start) else -1

    def _has_separator(self, text: bytes, start: int) -> bool:
        """Return whether the separator is known: a comma and the key with which items begin."""
        if not self._separator and (first := _FIRST_KEY.match(text, start)) is not None:
            self._separator = b"," + first[0]
        return bool(self._separator)

    def _read(self, text: bytes) -> K | Malformed | None:
        """Return the item; None if the text is not JSON."""
        item = self._items.read(text)
        return None if isinstance(item, Malformed) and not is_json(text) else item


def _skip_whitespace(text: bytes, start: int) -> int:
    whitespace = _WHITESPACE.match(text, start)
    return start if whitespace is None else whitespace.end()


def _find_end(text: bytes, start: int) -> tuple[int, int]:
    """Return the offsets at which the next value begins and ends; -1 if it does not end in this text."""
    start = _skip_whitespace(text, start)
    depth = 0
    if text[start : start + 1] not in (b"{", b"["):
        return start, -1
    for token in _BRACKETS.finditer(text, start):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return start, token.end()
    return start, -1
