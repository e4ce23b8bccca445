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
    reader,
    stages_of,
    whole,
)
from ..wire import Headers, open_inflater
from ._events import Failed, Malformed
from ._lines import MAX_LINE
from ._odd_lines import Refusal, check_content_type, is_json, name_of, read_metadata

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")


class _Page(Struct, Generic[T], rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] | msgspec.UnsetType | None = msgspec.UNSET

    def named(self, text: bytes) -> bytes:
        """An item's text with its kind, which lists of built-in kinds leave out of each item."""
        kind = {"kind": self.kind.removesuffix("List"), "apiVersion": self.api_version}
        rest = text[1:].lstrip()
        return msgspec.json.encode(kind)[:-1] + (b"" if rest.startswith(b"}") else b",") + rest


_page_readers: Final[dict[Any, Callable[[bytes], _Page[Any]]]] = {}

# Strings are passed over whole: what looks like a bracket inside one is none.
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]+|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_CLOSING: Final = ord("}")
_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_FIRST_KEY: Final = re.compile(rb'\{"[^"\\]*":')

# What no separator has ended by now is no ordinary item, or its list is not written as servers do.
_LONG: Final = 1024 * 1024


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
    read = _item_reader(kind, strict=strict)
    for raw in _items(page, kind):
        item = _read_item(bytes(raw), kind, page, read)
        if isinstance(item, Malformed):
            found.malformed.append(item)
        else:
            found.items.append(item)
    return found


def _read_item(text: bytes, kind: type[K], page: _Page[Any], read: Callable[[bytes], K]) -> K | Malformed:
    try:
        item = read(text)
        if isinstance(item, Dynamic) and not item.kind and page.kind:
            item = read(page.named(text))
    except InvalidObject as error:
        meta, name = read_metadata(text), _name(kind)
        said = str(error).removeprefix(f"{name}: ")
        return Malformed(meta, InvalidObject(f"{name_of(name, meta)}: {said}"), text)
    return item


def _item_reader(kind: type[K], *, strict: bool) -> Callable[[bytes], K]:
    """What reads one item, and looks at every byte of it.

    Unless all is to be typed, an item is its identity and its text: a Store keeps that, and has no use for
    the parts that another reading would find in it.
    """
    stages = None if strict else stages_of(get_origin(kind) or kind)
    if stages is None:
        return lambda text: decode(text, kind, strict=strict, checked=True)
    read, attach = reader(stages.front), stages.attach

    def read_front(text: bytes) -> K:
        try:
            obj: K = read(text)
        except NOT_JSON as error:
            raise InvalidObject(f"{_name(kind)}: {error}") from None
        attach(obj, whole(text))
        return obj

    return read_front


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
        reader(payload)  # names the class if one of its annotations leads nowhere
        found = _page_readers[payload] = msgspec.json.Decoder(_Page[payload], dec_hook=dec_hook).decode
    return found


def _name(kind: Any) -> str:
    return str((get_origin(kind) or kind).__name__)


class ListDecoder(Generic[K]):
    """Decodes a list that arrives in pieces: `feed` gives items, memory stays bounded by a chunk and an item.

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
        self._read_text = _item_reader(kind, strict=strict)
        self._max_item = max_item
        self._refusal = None if 200 <= status < 300 else Refusal(status, headers)
        self._inflater = open_inflater(() if self._refusal else headers)
        if self._refusal is None:
            check_content_type(headers, f"the list of {_name(kind)}")
        self._page: _Page[Any] | None = None  # None until the items begin
        self._pieces: list[bytes] = []
        self._size = 0
        self._enough = 0
        self._separator = b""
        self._begun = False  # true once an item was given out

    def feed(self, chunk: bytes) -> list[K | Malformed | Failed]:
        """Take the next bytes; give the items that are complete."""
        if self._refusal is not None:
            self._refusal.feed(chunk)
            return []
        piece = self._inflater.feed(chunk)
        self._pieces.append(piece)
        self._size += len(piece)
        return self._take() if self._size >= self._enough else []

    def _take(self) -> list[K | Malformed | Failed]:
        text = b"".join(self._pieces)
        items: list[K | Malformed | Failed] = []
        start = self._begin(text) if self._page is None else 0
        if self._page is not None:
            start = self._cut(text, start, self._page, items)
        self._pieces = [text[start:]]
        self._size = size = len(text) - start
        if size > self._max_item:
            raise RemoteProtocolError(
                f"an item of a list has grown to {size} bytes; {self._max_item} are the limit"
            )
        # A long item is looked at again when it has grown by a quarter: small chunks would make it quadratic.
        self._enough = min(size + size // 4, self._max_item + 1)
        return items

    def finish(self) -> list[K | Malformed | Failed]:
        """The body has ended: the last item, and the metadata of the list."""
        if self._refusal is not None:
            return [self._refusal.failed()]
        self._inflater.finish()
        rest = b"".join(self._pieces)
        self._pieces = []
        text = rest if self._page is None else b'{"items":[' + rest
        try:
            last = _page_reader(Raw)(text)
        except NOT_JSON as error:
            raise RemoteProtocolError(f"the list of {_name(self._kind)} ended early: {error}") from None
        if self._begun and not last.items:
            raise RemoteProtocolError(f"the list of {_name(self._kind)} ended after a comma")
        if (page := self._page) is not None:
            last.kind, last.api_version = last.kind or page.kind, last.api_version or page.api_version
        if page is None or last.metadata != ListMeta():
            self.metadata = last.metadata
        raws = _items(last, self._kind)
        return [_read_item(bytes(raw), self._kind, last, self._read_text) for raw in raws]

    def _begin(self, text: bytes) -> int:
        """Where the items begin; what stands before is the list's kind, and mostly its metadata."""
        depth = 0
        for token in _BRACKETS.finditer(text):
            if token[0] in (b"]", b"}"):
                depth -= 1
            elif token[0] in (b"[", b"{"):
                depth += 1
                start = token.end()
                if depth == 2 and text.endswith(b'"items":[', 0, start):
                    try:
                        page = _page_reader(Raw)(text[:start] + b"]}")
                    except NOT_JSON:
                        break
                    if page.items is not msgspec.UNSET:  # or the key only ends in that
                        _items(page, self._kind)
                        self._page = page
                        self.metadata = page.metadata
                        return start
        return 0

    def _cut(self, text: bytes, start: int, page: _Page[Any], items: list[Any]) -> int:
        """Cut items from here on; give where the first incomplete one begins."""
        regular = True
        while True:
            end = self._guess(text, start) if regular else -1
            regular = end >= 0
            item = self._read(text[start:end], page) if regular and text[end - 1] == _CLOSING else None
            if item is None:
                if not regular and len(text) - start < _LONG:
                    return start
                start, end = _end(text, start)
                if end < 0:
                    return start
                item = self._read(text[start:end], page)
                if item is None:
                    raise RemoteProtocolError(f"no list of {_name(self._kind)}: an item in it is no JSON")
                end = _after_blanks(text, end)
                if text[end : end + 1] != b",":
                    return start
            items.append(item)
            self._begun = True
            start = end + 1

    def _guess(self, text: bytes, start: int) -> int:
        """Where the next separator stands: a comma, and the first key that items begin with."""
        if not self._separator:
            first = _FIRST_KEY.match(text, start)
            if first is None:
                return -1
            self._separator = b"," + first[0]
        return text.find(self._separator, start)

    def _read(self, text: bytes, page: _Page[Any]) -> K | Malformed | None:
        """The item that this is; None if it is none."""
        item = _read_item(text, self._kind, page, self._read_text)
        return None if isinstance(item, Malformed) and not is_json(text) else item


def _after_blanks(text: bytes, start: int) -> int:
    found = _BLANKS.match(text, start)
    return start if found is None else found.end()


def _end(text: bytes, start: int) -> tuple[int, int]:
    """Where the value that stands next begins, and where its brackets close; -1 if not in this text."""
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
