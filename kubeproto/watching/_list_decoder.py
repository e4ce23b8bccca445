"""`ListDecoder`: a list becomes objects while its one long body is still arriving.

Items are cut out of the stream. The end of an item is guessed by the bytes between two items, and decoding
verifies the guess. All items that a chunk completes are read at once, up to the last such end; if that fails,
item by item; and if the guess fails (because an item contains text that looks like an item), brackets are
counted instead. Every byte of the returned items has been read.
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
from ._events import WatchFailed
from ._line_buffer import MAX_LINE
from ._odd_lines import Refusal, check_content_type
from ._pages import ItemReader, Page, read_raw_page

K = TypeVar("K", bound=KubeObject)

# Strings are skipped whole: a bracket inside one does not count.
_BRACKETS: Final = Pattern(rb'"(?:[^"\\]+|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_CLOSING: Final = ord("}")
_BLANKS: Final = Pattern(rb"[ \t\r\n]*")
_FIRST_KEY: Final = Pattern(rb'\{"[^"\\]*":')

# An item that no separator has ended by now is not an ordinary one, or its list is not written as servers do.
_LONG: Final = 1024 * 1024


class ListDecoder(Generic[K]):
    """Decodes a list that arrives in pieces: `feed` returns items, memory stays bounded by a chunk and an
    item.

    `metadata` is complete once `finish` was called, because lists of custom resources end with their
    metadata. A status outside 2xx makes the whole body one
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
        self._refusal = None if 200 <= status < 300 else Refusal(status, headers)
        self._inflater = open_inflater(() if self._refusal else headers)
        if self._refusal is None:
            check_content_type(headers, f"the list of {self._items.name}")
        self._page: Page | None = None  # None until the items begin
        self._pieces: list[bytes] = []
        self._size = 0
        self._next_size = 0
        self._separator = b""
        self._has_items = False  # an item was returned

    def feed(self, chunk: bytes) -> list[K | Malformed | WatchFailed]:
        """Take the next bytes; return the items that are complete."""
        if self._refusal is not None:
            self._refusal.feed(chunk)
            return []
        text = self._inflater.feed(chunk)
        self._pieces.append(text)
        self._size += len(text)
        return self._take() if self._size >= self._next_size else []

    def _take(self) -> list[K | Malformed | WatchFailed]:
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
        """The body has ended: return the last item, and read the metadata of the list."""
        if self._refusal is not None:
            return [self._refusal.failed()]
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
        return [*self._items.read_all([bytes(raw) for raw in self._items.of(last)])]

    def _begin(self, text: bytes) -> int:
        """Return where the items begin; the list's kind, and usually its metadata, precede them."""
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
                    if page.items is not msgspec.UNSET:  # otherwise the key only ends in that
                        self._items.of(page)
                        self._page = page
                        self.metadata = page.metadata
                        return start
        return 0

    def _cut_items(self, text: bytes, start: int, items: list[Any]) -> int:
        """Cut items from here on; return where the first incomplete one begins."""
        start = self._cut_many(text, start, items)
        regular = True
        while True:
            end = self._guess(text, start) if regular else -1
            regular = end >= 0
            item = self._read(text[start:end]) if regular and text[end - 1] == _CLOSING else None
            if item is None:
                if not regular and len(text) - start < _LONG:
                    return start
                start, end = _end(text, start)
                if end < 0:
                    return start
                item = self._read(text[start:end])
                if item is None:
                    raise RemoteProtocolError(
                        f"this is not a list of {self._items.name}: an item in it is not JSON"
                    )
                end = _after_blanks(text, end)
                if text[end : end + 1] != b",":
                    return start
            items.append(item)
            self._has_items = True
            start = end + 1

    def _cut_many(self, text: bytes, start: int, items: list[Any]) -> int:
        """Read all items up to the last separator at once; return where the next item begins.

        Looking for each separator would take a sixth more time, and a call for each item another sixth.
        """
        end = text.rfind(self._separator, start) if self._separates(text, start) else -1
        if end < 0 or (complete := self._items.read_many(text, start, end)) is None:
            return start
        items += complete
        self._has_items = True
        return end + 1

    def _guess(self, text: bytes, start: int) -> int:
        """Return where the next separator is."""
        return text.find(self._separator, start) if self._separates(text, start) else -1

    def _separates(self, text: bytes, start: int) -> bool:
        """Return whether there is a separator: a comma, and the first key that items begin with."""
        if not self._separator and (first := _FIRST_KEY.match(text, start)) is not None:
            self._separator = b"," + first[0]
        return bool(self._separator)

    def _read(self, text: bytes) -> K | Malformed | None:
        """Return the item that the text is; None if the text is not JSON."""
        item = self._items.read(text)
        return None if isinstance(item, Malformed) and not is_json(text) else item


def _after_blanks(text: bytes, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    return start if blanks is None else blanks.end()


def _end(text: bytes, start: int) -> tuple[int, int]:
    """Return where the next value begins, and where its brackets close; -1 if not in this text."""
    start = _after_blanks(text, start)
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
