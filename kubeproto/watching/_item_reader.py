"""`read_page`: decodes a page of a list into objects, in a single pass unless an item is unusual.

`ItemReader` reads the items of a list, for complete pages and for pages that arrive in pieces. It reads every
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
    split_object,
)
from ..objects._shared import (
    LONG_TEXT,
    MIN_PREFIX,
    PREFIX_ENDS,
    SOURCE,
    Malformed,
    PageItem,
    PageItems,
    excludes_namespace,
    fill_in_kind,
    read_object,
    reader_of,
    split_array,
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
_read_page_as_raw: Final = Reader[Page](Page).read
_read_raws: Final = Reader[list[Raw]](list[Raw]).read
_read_string: Final = Reader[str](str).read
_read_meta: Final = Reader[ListMeta](ListMeta).read

_NOT_LISTS: Final = ("Status", "Table")

# The limit for items without a name. Each `Malformed` takes a hundred times the memory of a `null`, so a list
# of nulls must be refused early.
_MAX_NAMELESS: Final = 1000


def read_page(
    body: bytes, kind: type[K], *, strict: bool = False, resource: Resource | None = None
) -> ObjectList[K]:
    """Return a page of a list. Items that do not fit are in `malformed`.

        A body that is not such a list raises `RemoteProtocolError`.
    `resource` is the requested kind, for a class
        without a kind.
    """
    items = ItemReader(kind, strict=strict, resource=resource)
    try:
        if (objects := items.read_in_one_pass(body)) is not None:
            return objects
        page = read_raw_page(body)
    except InvalidObject as error:
        problem = f"not a list of {items.name}: {error}"
    else:
        result: ObjectList[K] = ObjectList(items=[], metadata=page.metadata)
        for item in items.read_all([bytes(raw) for raw in items.items_of(page)]):
            if isinstance(item, Malformed):
                result.malformed.append(item)
            else:
                result.items.append(item)
        return result
    raise RemoteProtocolError(problem)


def read_raw_page(body: bytes) -> Page:
    try:
        return _read_page_as_raw(body)
    except TooDeep:
        members = split_object(body)
    return Page(
        _read_string(members.get("kind", b'""')),
        _read_string(members.get("apiVersion", b'""')),
        _read_meta(members.get("metadata", b"{}")),
        split_array(members["items"]) if "items" in members else msgspec.UNSET,
    )


class ItemReader(Generic[K]):
    """Reads the items of a list, each to its last byte."""

    def __init__(self, kind: type[K], *, strict: bool, resource: Resource | None) -> None:
        self._plain: Any = get_origin(kind) or kind
        self._views = views_of(self._plain)
        self._strict = strict
        self._resource: Resource | None = getattr(self._plain, "resource", None) or resource
        self._default_resource = resource  # of items without a kind
        self._nameless_count = 0
        self.name = str(self._plain.__name__)

    def items_of(self, page: _PageOf[T]) -> list[T]:
        """Return the items of a page; raise `RemoteProtocolError` if it is not a list of this kind."""
        if page.items is msgspec.UNSET or not self._is_list(page):
            response = page.kind or "document without a kind"
            raise RemoteProtocolError(
                f"the response is a {response} although a list of {self.name} was requested"
            )
        if self._default_resource is None and self._plain is Dynamic and page.kind:
            try:
                gvk = GroupVersionKind.of(page.api_version, page.kind.removesuffix("List"))
            except ValueError:
                return page.items or []
            self._default_resource = Resource(gvk.group, gvk.version, gvk.kind, "")
        return page.items or []

    def _is_list(self, page: _PageOf[Any]) -> bool:
        resource = self._resource
        if not page.kind:
            return True
        # A CRD may choose any listKind; only the class knows it.
        definition: Definition | None = getattr(self._plain, "definition", None)
        if definition is not None and page.kind == definition.list_kind:
            return True
        if self._plain is Dynamic and (resource is None or "." in resource.group):
            return page.kind not in _NOT_LISTS
        if resource is None or page.kind in (f"{resource.kind}List", "List"):
            return page.kind.endswith("List")
        if issubclass(self._plain, Metadata):
            return page.kind == "PartialObjectMetadataList"
        # A custom resource may give its lists any kind. The items contain their own kind.
        return (
            "." in resource.group
            and page.kind.endswith("List")
            and page.api_version in ("", resource.api_version)
        )

    def read_in_one_pass(self, body: bytes) -> ObjectList[K] | None:
        """Read a page in a single pass; return None if its items must be read separately.

        The JSON of the items is cut out of the page when it is first needed.
        """
        if not self._views.lazy or (self._strict and self._plain is Dynamic):
            return None
        try:
            page = reader_of(_PageOf[self._views.payload(strict=self._strict)]).read(body)  # type: ignore[misc]
        except InvalidObject:
            return None
        items: list[K] = self.items_of(page)
        page_items = PageItems(body)
        resource = None if self._views.pinned else self._default_resource
        for index, obj in enumerate(items):
            meta = obj.metadata
            if not meta.name:
                return None
            force_setattr(meta, SOURCE, PageItem(page_items, index))
            if resource is not None:
                fill_in_kind(obj, resource, self._views)
        return ObjectList(items=items, metadata=page.metadata)

    def read_many(self, text: bytes, start: int, end: int) -> list[K | Malformed] | None:
        """Read items with commas between them; return None if they must be read separately.

        Each item gets a copy of its bytes: otherwise each would keep the bytes of all others in memory.
        """
        if self._strict or not self._views.lazy:
            return None
        try:
            raws = _read_raws(b"".join((b"[", memoryview(text)[start:end], b"]")))
        except InvalidObject:
            return None
        return self.read_all(list(map(bytes, raws))) or None

    def read_all(self, texts: list[bytes]) -> list[K | Malformed]:
        """Read items that arrived together: their identities in a single call, if possible.

        Their bytes have been checked already, so a long item is read only up to the end of its identity.
        """
        if self._strict or not self._views.lazy or not texts:
            return [self.read(text) for text in texts]
        prefixes = [text if len(text) < LONG_TEXT else _close_prefix(text) for text in texts]
        try:
            objects = reader_of(self._views.view).read_each(prefixes)
        except InvalidObject:
            return [self.read(text) for text in texts]
        pinned, cluster_scoped = self._views.pinned, self._views.cluster_scoped
        resource = None if pinned else self._default_resource
        items = list[K | Malformed]()
        for obj, text, prefix in zip(objects, texts, prefixes, strict=True):
            meta = obj.metadata
            complete = prefix is text
            if not (
                meta.name
                and (
                    complete
                    or (meta.uid and meta.resource_version and (pinned or (obj.kind and obj.api_version)))
                )
                and (
                    complete
                    or meta.namespace
                    or (cluster_scoped and excludes_namespace(text, len(prefix) - 2, len(text)))
                )
            ):
                items.append(self.read(text))
                continue
            force_setattr(meta, SOURCE, (text, -1, -1))
            items.append(obj if resource is None else fill_in_kind(obj, resource, self._views))
        return items

    def read(self, text: bytes) -> K | Malformed:
        """Read an item."""
        try:
            item: Any = read_object(text, self._views, strict=self._strict)
            if not item.metadata.name:
                raise InvalidObject("an object without a name")
        except InvalidObject as error:
            return self._make_malformed(text, error)
        return fill_in_kind(item, self._default_resource, self._views)  # type: ignore[no-any-return]

    def _make_malformed(self, text: bytes, error: InvalidObject) -> Malformed:
        meta = read_metadata(text)
        if meta is None or not meta.name:
            self._nameless_count += 1
            if self._nameless_count > _MAX_NAMELESS:
                raise RemoteProtocolError(
                    f"not a list of {self.name}: over {_MAX_NAMELESS} of its items have no name"
                )
        name = name_of(self.name, meta)
        problem = str(error).removeprefix(f"{self.name}: ").removeprefix(f"{name}: ")
        return Malformed(meta, InvalidObject(f"{name}: {problem}"), text)


def _close_prefix(text: bytes) -> bytes:
    """Return the identity prefix of a long item, closed by braces; see `PREFIX_ENDS`."""
    if len(text) >= LONG_TEXT:
        for prefix_end in PREFIX_ENDS:
            end = text.find(prefix_end, MIN_PREFIX)
            if end > 0:
                return text[:end] + b"}}"
    return text
