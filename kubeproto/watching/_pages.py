"""Lists: a whole page at once, or item by item while one long body is still arriving.

`read_page` reads a page in one pass. `ListDecoder` cuts items out of the stream: an item's end is guessed by
the bytes that stand between two items, and decoding makes sure of it. Where the guess fails (an item that
holds what looks like an item) brackets are counted instead. Of what is given out every byte was looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_origin

import msgspec
from msgspec import Raw, Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import (
    NOT_JSON,
    Dynamic,
    KubeObject,
    ListMeta,
    ObjectList,
    dec_hook,
    decode,
    stages_of,
)
from ..wire import Headers, open_inflater
from ._events import Failed, Malformed
from ._lines import MAX_LINE
from ._odd_lines import Refusal, is_json, name_of, read_metadata

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")


class _Page(Struct, Generic[T], rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] | msgspec.UnsetType | None = msgspec.UNSET


_page_readers: Final[dict[Any, Callable[[bytes], _Page[Any]]]] = {}

# Strings are passed over whole: what looks like a bracket inside one is none.
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]+|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def read_page(body: bytes, kind: type[K], *, strict: bool = False) -> ObjectList[K]:
    """One page of a list. An item that does not fit is in `malformed`; what is no list is refused by name."""
    if not issubclass(get_origin(kind) or kind, Dynamic):
        try:
            page = _page_reader(_payload(kind, strict=strict))(body)
        except NOT_JSON:
            pass
        else:
            return ObjectList(items=_items(page, kind), metadata=page.metadata)
    return _read_apart(body, kind, strict=strict)


def _read_apart(body: bytes, kind: type[K], *, strict: bool) -> ObjectList[K]:
    """The same, each item by itself: some do not fit, or each needs its own text."""
    try:
        page = _page_reader(Raw)(body)
    except NOT_JSON as error:
        raise RemoteProtocolError(f"no list of {_name(kind)}: {error}") from None
    found: ObjectList[K] = ObjectList(items=[], metadata=page.metadata)
    for raw in _items(page, kind):
        item = _read_item(bytes(raw), kind, page, strict=strict)
        if isinstance(item, Malformed):
            found.malformed.append(item)
        else:
            found.items.append(item)
    return found


def _read_item(text: bytes, kind: type[K], page: _Page[Any], *, strict: bool) -> K | Malformed:
    try:
        item = decode(text, kind, strict=strict, checked=True)
        if isinstance(item, Dynamic) and not item.kind:
            # Built-in lists leave out what each item is.
            name = page.kind.removesuffix("List").encode()
            text = b'{"kind":"%s","apiVersion":"%s",%s' % (name, page.api_version.encode(), text[1:])
            item = decode(text, kind, strict=strict, checked=True)
    except InvalidObject as error:
        meta = read_metadata(text)
        return Malformed(meta, InvalidObject(f"{name_of(_name(kind), meta)}: {error}"), text)
    return item


def _items(page: _Page[T], kind: Any) -> list[T]:
    """The items of what must be a list: a Table or a Status is none, though both are JSON."""
    if page.items is msgspec.UNSET or not (page.kind.endswith("List") or not page.kind):
        what = page.kind or "something else"
        raise RemoteProtocolError(f"{what} came where a list of {_name(kind)} was asked for")
    return page.items or []


def _payload(kind: Any, *, strict: bool) -> Any:
    stages = stages_of(get_origin(kind) or kind)
    if stages is None:
        return kind
    return stages.typed if strict else stages.lazy


def _page_reader(payload: Any) -> Callable[[bytes], _Page[Any]]:
    found = _page_readers.get(payload)
    if found is None:
        found = _page_readers[payload] = msgspec.json.Decoder(_Page[payload], dec_hook=dec_hook).decode
    return found


def _name(kind: Any) -> str:
    return str((get_origin(kind) or kind).__name__)


class ListDecoder(Generic[K]):
    """Decodes a list that arrives in pieces: `feed` gives the items that are complete, memory stays bounded.

    `page` has no items: it is there for the list's kind and metadata, whole once `finish` was called, because
    lists of custom resources end with theirs. A status outside 2xx makes the whole body one `Failed`.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        strict: bool = False,
        status: int = 200,
        headers: Headers = (),
        max_item: int = MAX_LINE,
    ) -> None:
        self.metadata = ListMeta()
        self._kind = kind
        self._strict = strict
        self._max_item = max_item
        self._refusal = None if 200 <= status < 300 else Refusal(status, headers)
        self._inflater = open_inflater(headers)
        self._page: _Page[Any] | None = None  # None until the items begin
        self._rest = b""
        self._separator = b""

    def feed(self, chunk: bytes) -> list[K | Malformed | Failed]:
        """Take the next bytes; give the items that are complete."""
        if self._refusal is not None:
            self._refusal.feed(chunk)
            return []
        text = self._rest + self._inflater.feed(chunk)
        start = 0
        if self._page is None:
            start = self._begin(text)
        items: list[K | Malformed | Failed] = []
        if self._page is not None:
            start = self._cut(text, start, self._page, items)
        self._rest = text[start:]
        if len(self._rest) > self._max_item:
            raise RemoteProtocolError(
                f"an item of a list has grown to {len(self._rest)} bytes; {self._max_item} are the limit"
            )
        return items

    def finish(self) -> list[K | Malformed | Failed]:
        """The body has ended: the last item, and the metadata of the list."""
        if self._refusal is not None:
            return [self._refusal.failed()]
        self._inflater.finish()
        text = self._rest if self._page is None else b'{"items":[' + self._rest
        self._rest = b""
        try:
            last = _page_reader(Raw)(text)
        except NOT_JSON as error:
            raise RemoteProtocolError(f"the list of {_name(self._kind)} ended early: {error}") from None
        begun = self._page
        page = last if begun is None or last.kind else begun
        if begun is None or last.metadata != ListMeta():
            self.metadata = last.metadata
        raws = _items(
            last if begun is None else _Page(page.kind, page.api_version, items=last.items), self._kind
        )
        return [_read_item(bytes(raw), self._kind, page, strict=self._strict) for raw in raws]

    def _begin(self, text: bytes) -> int:
        """Where the items begin; what stands before is the list's kind, and mostly its metadata."""
        mark = b'"items":['
        found = text.find(mark)
        while found >= 0:
            start = found + len(mark)
            try:
                page = _page_reader(Raw)(text[:start] + b"]}")
            except NOT_JSON:
                # It belongs to something deeper.
                found = text.find(mark, start)
                continue
            _items(page, self._kind)
            self._page = page
            self.metadata = page.metadata
            return start
        return 0

    def _cut(self, text: bytes, start: int, page: _Page[Any], items: list[Any]) -> int:
        """Cut items from here on; give where the first incomplete one begins."""
        while True:
            if not self._separator:
                # Between two items stand a comma and whatever all items begin with: their first key.
                colon = text.find(b":", start)
                if colon < 0 or text[start : start + 1] != b"{":
                    return start
                self._separator = b"," + text[start : colon + 1]
            end = text.find(self._separator, start)
            if end < 0:
                return start
            item = self._read(text[start:end], page)
            if item is None:
                end = _end(text, start)
                if end < 0:
                    return start
                if text[end : end + 1] != b",":
                    return start
                item = self._read(text[start:end], page)
                assert item is not None
            items.append(item)
            start = end + 1

    def _read(self, text: bytes, page: _Page[Any]) -> K | Malformed | None:
        """The item that this is; None if it is none."""
        if not text.endswith(b"}"):
            return None
        item = _read_item(text, self._kind, page, strict=self._strict)
        return None if isinstance(item, Malformed) and not is_json(text) else item


def _end(text: bytes, start: int) -> int:
    """Where the value that begins here ends, by its brackets; -1 if not in this text."""
    depth = 0
    for token in _BRACKETS.finditer(text, start):
        match token[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
                if depth == 0:
                    return token.end()
            case _:
                pass
    return -1
