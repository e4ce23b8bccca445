"""Lists: a whole page at once, or item by item while one long body is still arriving.

`read_page` reads a page in one pass. `ListDecoder` cuts items out of the stream: an item's end is guessed by
the bytes that stand between two items, and decoding makes sure of it. Where the guess fails (an item that
holds what looks like an item) brackets are counted instead. Of what is given out every byte was looked at.
"""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar, get_origin

import msgspec
from msgspec import Raw, Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import (
    Definition,
    Dynamic,
    GroupVersionKind,
    KubeObject,
    ListMeta,
    Metadata,
    ObjectList,
    Reader,
    Resource,
    TooDeep,
    elements,
    identified,
    is_identified,
    is_json,
    members,
    read_whole,
    shows_all,
    views_of,
)
from ..objects._shared import FRONT_MARKS, FRONT_SKIP, LONG, Malformed, reader, whole
from ..wire import Headers, open_inflater
from ._events import WatchFailed
from ._line_buffer import MAX_LINE
from ._odd_lines import Refusal, check_content_type, name_of, read_metadata

K = TypeVar("K", bound=KubeObject)


class _Page(Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[Raw] | msgspec.UnsetType | None = msgspec.UNSET


_read_one_page: Final = Reader[_Page](_Page).read
_read_text: Final = Reader[str](str).read
_read_meta: Final = Reader[ListMeta](ListMeta).read

# Strings are passed over whole: what looks like a bracket inside one is none.
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]+|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_CLOSING: Final = ord("}")
_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_FIRST_KEY: Final = re.compile(rb'\{"[^"\\]*":')

_NOT_LISTS: Final = ("Status", "Table")

# What no separator has ended by now is no ordinary item, or its list is not written as servers do.
_LONG: Final = 1024 * 1024

# So many items of a list may be no objects with a name. Each that is kept takes a hundred times the memory of
# a `null`, so a list of nothing else must end early.
_MAX_NAMELESS: Final = 1000


def read_page(
    body: bytes, kind: type[K], *, strict: bool = False, resource: Resource | None = None
) -> ObjectList[K]:
    """Return one page of a list. An item that does not fit is in `malformed`; what is no list is refused.

    `resource` says what was asked for where the class does not.
    """
    items = _Items(kind, strict=strict, resource=resource)
    try:
        page = _read_page(body)
    except InvalidObject as error:
        refusal = f"no list of {items.name}: {error}"
    else:
        found: ObjectList[K] = ObjectList(items=[], metadata=page.metadata)
        for item in items.read_all([bytes(raw) for raw in items.of(page)]):
            if isinstance(item, Malformed):
                found.malformed.append(item)
            else:
                found.items.append(item)
        return found
    raise RemoteProtocolError(refusal)


def _read_page(body: bytes) -> _Page:
    try:
        return _read_one_page(body)
    except TooDeep:
        found = members(body)
    return _Page(
        _read_text(found.get("kind", b'""')),
        _read_text(found.get("apiVersion", b'""')),
        _read_meta(found.get("metadata", b"{}")),
        elements(found["items"]) if "items" in found else msgspec.UNSET,
    )


class _Items(Generic[K]):
    """Reads the items of one list. Of each every byte has been looked at."""

    def __init__(self, kind: type[K], *, strict: bool, resource: Resource | None) -> None:
        self._plain: Any = get_origin(kind) or kind
        self._views = views_of(self._plain)
        self._strict = strict
        own = getattr(self._plain, "resource", None) or resource
        self._resource: Resource | None = own
        self._filled = resource
        self._nameless = 0
        self.name = str(self._plain.__name__)

    def of(self, page: _Page) -> list[Raw]:
        """Return the items of what must be a list of this kind: a Table or another kind's list is refused."""
        if page.items is msgspec.UNSET or not self._is_list(page):
            what = page.kind or "something else"
            raise RemoteProtocolError(f"a {what} came where a list of {self.name} was asked for")
        if self._filled is None and self._plain is Dynamic and page.kind:
            try:
                gvk = GroupVersionKind.of(page.api_version, page.kind.removesuffix("List"))
            except ValueError:
                return page.items or []
            self._filled = Resource(gvk.group, gvk.version, gvk.kind, "")
        return page.items or []

    def _is_list(self, page: _Page) -> bool:
        own = self._resource
        if not page.kind:
            return True
        # A definition may give its lists any name, and only a class knows which.
        definition: Definition | None = getattr(self._plain, "definition", None)
        if definition is not None and page.kind == definition.list_kind:
            return True
        if self._plain is Dynamic and (own is None or "." in own.group):
            return page.kind not in _NOT_LISTS
        if own is None or page.kind in (f"{own.kind}List", "List"):
            return page.kind.endswith("List")
        if issubclass(self._plain, Metadata):
            return page.kind == "PartialObjectMetadataList"
        # The definition of a custom resource may name its list as it likes. Its items say what they are.
        return "." in own.group and page.kind.endswith("List") and page.api_version in ("", own.api_version)

    def read_all(self, texts: list[bytes]) -> list[K | Malformed]:
        """Read the items that have come together: their identities with one call where that works."""
        if self._strict or not self._views.lazy or not texts:
            return [self.read(text) for text in texts]
        try:
            found: list[K] = reader(self._views.view).read_lines(b"\n".join(map(_front, texts)))
        except InvalidObject:
            return [self.read(text) for text in texts]
        views, attach, filled = self._views, self._views.attach, None if self._views.pinned else self._filled
        items = list[K | Malformed]()
        for obj, text in zip(found, texts, strict=True):
            if not is_identified(obj, views) or not (
                obj.metadata.namespace or len(text) < LONG or shows_all(text, 0, len(text))
            ):
                items.append(self.read(text))
                continue
            attach(obj, whole(text))
            items.append(obj if filled is None else identified(obj, filled, views))
        return items

    def read(self, text: bytes) -> K | Malformed:
        """Read one item."""
        try:
            item: Any = read_whole(text, self._views, strict=self._strict)
            if not item.metadata.name:
                raise InvalidObject("an object without a name")
        except InvalidObject as error:
            return self._malformed(text, error)
        return identified(item, self._filled, self._views)  # type: ignore[no-any-return]

    def _malformed(self, text: bytes, error: InvalidObject) -> Malformed:
        meta = read_metadata(text)
        if meta is None or not meta.name:
            self._nameless += 1
            if self._nameless > _MAX_NAMELESS:
                raise RemoteProtocolError(
                    f"no list of {self.name}: over {_MAX_NAMELESS} of its items are no objects with a name"
                )
        name = name_of(self.name, meta)
        said = str(error).removeprefix(f"{self.name}: ").removeprefix(f"{name}: ")
        return Malformed(meta, InvalidObject(f"{name}: {said}"), text)


def _front(text: bytes) -> bytes:
    """Return as much of a long item as shows which one it is, closed by hand; see `FRONT_MARKS`."""
    if len(text) >= LONG:
        for mark in FRONT_MARKS:
            cut = text.find(mark, FRONT_SKIP)
            if cut > 0:
                return text[:cut] + b"}}"
    return text


class ListDecoder(Generic[K]):
    """Decodes a list that arrives in pieces: `feed` gives items, memory stays bounded by a chunk and an item.

    `page` has no items: it is there for the list's kind and metadata, whole once `finish` was called, because
    lists of custom resources end with theirs. A status outside 2xx makes the whole body one `WatchFailed`.
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
        self._items = _Items(kind, strict=strict, resource=resource)
        self._max_item = max_item
        self._refusal = None if 200 <= status < 300 else Refusal(status, headers)
        self._inflater = open_inflater(() if self._refusal else headers)
        if self._refusal is None:
            check_content_type(headers, f"the list of {self._items.name}")
        self._page: _Page | None = None  # None until the items begin
        self._pieces: list[bytes] = []
        self._size = 0
        self._enough = 0
        self._separator = b""
        self._begun = False  # true once an item was given out

    def feed(self, chunk: bytes) -> list[K | Malformed | WatchFailed]:
        """Take the next bytes; give the items that are complete."""
        if self._refusal is not None:
            self._refusal.feed(chunk)
            return []
        piece = self._inflater.feed(chunk)
        self._pieces.append(piece)
        self._size += len(piece)
        return self._take() if self._size >= self._enough else []

    def _take(self) -> list[K | Malformed | WatchFailed]:
        text = b"".join(self._pieces)
        items: list[K | Malformed | WatchFailed] = []
        start = self._begin(text) if self._page is None else 0
        if self._page is not None:
            start = self._cut(text, start, items)
        self._pieces = [text[start:]]
        self._size = size = len(text) - start
        if size > self._max_item:
            raise RemoteProtocolError(
                f"an item of a list has grown to {size} bytes; {self._max_item} are the limit"
            )
        # A long item is looked at again when it has grown by a quarter: small chunks would make it quadratic.
        self._enough = min(size + size // 4, self._max_item + 1)
        return items

    def finish(self) -> list[K | Malformed | WatchFailed]:
        """The body has ended: the last item, and the metadata of the list."""
        if self._refusal is not None:
            return [self._refusal.failed()]
        self._inflater.finish()
        rest = b"".join(self._pieces)
        self._pieces = []
        text = rest if self._page is None else b'{"items":[' + rest
        try:
            last = _read_page(text)
        except InvalidObject as error:
            raise RemoteProtocolError(f"the list of {self._items.name} ended early: {error}") from None
        if self._begun and not last.items:
            raise RemoteProtocolError(f"the list of {self._items.name} ended after a comma")
        if (page := self._page) is not None:
            last.kind, last.api_version = last.kind or page.kind, last.api_version or page.api_version
        if page is None or last.metadata != ListMeta():
            self.metadata = last.metadata
        return [*self._items.read_all([bytes(raw) for raw in self._items.of(last)])]

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
                        page = _read_page(text[:start] + b"]}")
                    except InvalidObject:
                        break
                    if page.items is not msgspec.UNSET:  # or the key only ends in that
                        self._items.of(page)
                        self._page = page
                        self.metadata = page.metadata
                        return start
        return 0

    def _cut(self, text: bytes, start: int, items: list[Any]) -> int:
        """Cut items from here on; give where the first incomplete one begins."""
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
                    raise RemoteProtocolError(f"no list of {self._items.name}: an item in it is no JSON")
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

    def _read(self, text: bytes) -> K | Malformed | None:
        """Return the item that this is; None if it is none."""
        item = self._items.read(text)
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
