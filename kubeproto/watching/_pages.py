"""`read_page`: a page of a list becomes objects, in one pass unless something in it is odd.

`ItemReader` reads the items of one list, for whole pages and for those that arrive in pieces. It reads every
byte of the items that it returns.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeAlias, TypeVar, get_origin

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

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
    members,
)
from ..objects._shared import (
    FRONT_MARKS,
    FRONT_SKIP,
    LONG,
    SOURCE,
    ListedText,
    ListTexts,
    Malformed,
    elements,
    identified,
    read_whole,
    reader,
    shows_all,
    views_of,
)
from ._odd_lines import name_of, read_metadata

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")


class _PageOf(Struct, Generic[T], rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] | msgspec.UnsetType | None = msgspec.UNSET


Page: TypeAlias = _PageOf[Raw]
_read_one_page: Final = Reader[Page](Page).read
_read_raws: Final = Reader[list[Raw]](list[Raw]).read
_read_text: Final = Reader[str](str).read
_read_meta: Final = Reader[ListMeta](ListMeta).read

_NOT_LISTS: Final = ("Status", "Table")

# This many items of a list may be something other than objects with a name. Each `Malformed` takes a hundred
# times the memory of a `null`, so a list of nothing else must be refused early.
_MAX_NAMELESS: Final = 1000


def read_page(
    body: bytes, kind: type[K], *, strict: bool = False, resource: Resource | None = None
) -> ObjectList[K]:
    """Return one page of a list. An item that does not fit is in `malformed`; anything but a list is refused.

    `resource` is the requested kind, for a class without one.
    """
    items = ItemReader(kind, strict=strict, resource=resource)
    try:
        if (listed := items.read_at_once(body)) is not None:
            return listed
        page = read_raw_page(body)
    except InvalidObject as error:
        refusal = f"not a list of {items.name}: {error}"
    else:
        result: ObjectList[K] = ObjectList(items=[], metadata=page.metadata)
        for item in items.read_all([bytes(raw) for raw in items.of(page)]):
            if isinstance(item, Malformed):
                result.malformed.append(item)
            else:
                result.items.append(item)
        return result
    raise RemoteProtocolError(refusal)


def read_raw_page(body: bytes) -> Page:
    try:
        return _read_one_page(body)
    except TooDeep:
        texts = members(body)
    return Page(
        _read_text(texts.get("kind", b'""')),
        _read_text(texts.get("apiVersion", b'""')),
        _read_meta(texts.get("metadata", b"{}")),
        elements(texts["items"]) if "items" in texts else msgspec.UNSET,
    )


class ItemReader(Generic[K]):
    """Reads the items of one list, each to its last byte."""

    def __init__(self, kind: type[K], *, strict: bool, resource: Resource | None) -> None:
        self._plain: Any = get_origin(kind) or kind
        self._views = views_of(self._plain)
        self._strict = strict
        own = getattr(self._plain, "resource", None) or resource
        self._resource: Resource | None = own
        self._filled = resource
        self._nameless = 0
        self.name = str(self._plain.__name__)

    def of(self, page: _PageOf[T]) -> list[T]:
        """Return the items of a list, which must be of this kind: a Table or another list is refused."""
        if page.items is msgspec.UNSET or not self._is_list(page):
            response = page.kind or "something else"
            raise RemoteProtocolError(f"a {response} came although a list of {self.name} was requested")
        if self._filled is None and self._plain is Dynamic and page.kind:
            try:
                gvk = GroupVersionKind.of(page.api_version, page.kind.removesuffix("List"))
            except ValueError:
                return page.items or []
            self._filled = Resource(gvk.group, gvk.version, gvk.kind, "")
        return page.items or []

    def _is_list(self, page: _PageOf[Any]) -> bool:
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
        # The definition of a custom resource may name its list as it likes. Its items name their kind.
        return "." in own.group and page.kind.endswith("List") and page.api_version in ("", own.api_version)

    def read_at_once(self, body: bytes) -> ObjectList[K] | None:
        """Read a page in one pass; return None if its items have to be read one by one.

        The texts of the items are cut out of the page when one of them is needed.
        """
        if not self._views.lazy or (self._strict and self._plain is Dynamic):
            return None
        try:
            page = reader(_PageOf[self._views.payload(strict=self._strict)]).read(body)  # type: ignore[misc]
        except InvalidObject:
            return None
        items: list[K] = self.of(page)
        texts = ListTexts(body)
        filled = None if self._views.pinned else self._filled
        for index, obj in enumerate(items):
            meta = obj.metadata
            if not meta.name:
                return None
            force_setattr(meta, SOURCE, ListedText(texts, index))
            if filled is not None:
                identified(obj, filled, self._views)
        return ObjectList(items=items, metadata=page.metadata)

    def read_many(self, text: bytes, start: int, end: int) -> list[K | Malformed] | None:
        """Read items with commas between them; return None if they have to be read one by one.

        Each item gets a copy of its bytes, so that no item keeps the bytes of the others in memory.
        """
        if self._strict or not self._views.lazy:
            return None
        try:
            raws = _read_raws(b"".join((b"[", memoryview(text)[start:end], b"]")))
        except InvalidObject:
            return None
        return self.read_all(list(map(bytes, raws))) or None

    def read_all(self, texts: list[bytes]) -> list[K | Malformed]:
        """Read items that arrived together: their identities with one call if that works.

        Their bytes have been checked already, so a long item is only read up to the end of its identity.
        """
        if self._strict or not self._views.lazy or not texts:
            return [self.read(text) for text in texts]
        fronts = [text if len(text) < LONG else _front(text) for text in texts]
        try:
            objects = reader(self._views.view).read_each(fronts)
        except InvalidObject:
            return [self.read(text) for text in texts]
        pinned, clustered = self._views.pinned, self._views.cluster_scoped
        filled = None if pinned else self._filled
        items = list[K | Malformed]()
        for obj, text, front in zip(objects, texts, fronts, strict=True):
            meta = obj.metadata
            complete = front is text
            if not (
                meta.name
                and (
                    complete
                    or (meta.uid and meta.resource_version and (pinned or (obj.kind and obj.api_version)))
                )
                and (complete or meta.namespace or (clustered and shows_all(text, len(front) - 2, len(text))))
            ):
                items.append(self.read(text))
                continue
            force_setattr(meta, SOURCE, (text, -1, -1))
            items.append(obj if filled is None else identified(obj, filled, self._views))
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
                    f"not a list of {self.name}: over {_MAX_NAMELESS} of its items have no name"
                )
        name = name_of(self.name, meta)
        problem = str(error).removeprefix(f"{self.name}: ").removeprefix(f"{name}: ")
        return Malformed(meta, InvalidObject(f"{name}: {problem}"), text)


def _front(text: bytes) -> bytes:
    """Return the text of a long item up to the end of its identity, closed by braces; see `FRONT_MARKS`."""
    if len(text) >= LONG:
        for mark in FRONT_MARKS:
            end = text.find(mark, FRONT_SKIP)
            if end > 0:
                return text[:end] + b"}}"
    return text
