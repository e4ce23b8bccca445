"""Long lists as iterators: over pages, over objects, or over tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar

from msgspec.structs import replace

from kubeproto import ApiError, KubeObject, ObjectList, RemoteProtocolError
from kubeproto.objects import Table
from kubeproto.watching import pager
from kubeproto.wire import Expired, classify

from ..calls._core import call
from ._resync_exchanges import first_name
from ._sharding import in_shard, shard_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from kubeproto.objects import FieldSelector, Selector
    from kubeproto.requests import Request, Shard

    from ..calls._base_client import BaseClient
    from ..calls._blocking_base_client import BlockingBaseClient
    from ..calls._core import ClientCore
    from ..calls._effects import Effects

K = TypeVar("K", bound=KubeObject)
P = TypeVar("P", bound="ObjectList[Any] | Table")

OnExpired: TypeAlias = Literal["fail", "go on"]


class Selection(TypedDict, total=False):
    """The selectors of a list or a watch."""

    label_selector: str | Selector
    field_selector: str | FieldSelector
    shard_selector: str | Shard


class ListRequests(Protocol[P]):
    """The interface that creates the request for a page: the API of a kind, or its tables."""

    @property
    def list(self) -> Callable[..., Request[P]]:
        """Return the request for a list, or for a page of it."""
        ...


class Paging(Generic[P]):
    """The pages of a list. A page that failed, or was cancelled, is requested again by the next call."""

    def __init__(
        self,
        client: ClientCore,
        api: ListRequests[P],
        *,
        limit: int,
        on_expired: OnExpired,
        selection: Selection,
    ) -> None:
        self._client = client
        self._api = api
        self._selection = selection
        self._shard = shard_of(selection)
        self._returned_keys: set[tuple[str, str]] = set()
        self._restarted = False
        self._plan = pager.Plan(limit=limit, on_expired=on_expired)
        self._state: pager.State = pager.Ready(self._plan)
        self._error: Exception | None = None
        self._advance(pager.Started())

    @property
    def consistent(self) -> bool:
        """Whether all pages so far have the same version: False after the version of the list expired."""
        return not self._restarted and getattr(self._state, "consistent", True)

    def next(self) -> Effects[P | None]:
        """Return the next page; None after the last page."""
        while isinstance(self._state, pager.First | pager.Following | pager.Whole):
            now = self._client.now()
            send = pager.request(self._state, earliest=now, latest=now)
            request = self._api.list(limit=send.limit, continue_=send.token, **self._selection)
            try:
                page = (yield from call(self._client, request)).value
            except ApiError as error:
                outcome = classify(error)
                if not isinstance(outcome, Expired):
                    raise  # the earlier pages are valid, and a later request for this page may succeed
                self._advance(pager.Failed(outcome))
                if isinstance(self._state, pager.Lost):
                    self._error = error
            else:
                items, version, token = _contents(page)
                first = first_name(items)
                self._advance(pager.Listed(version, token, len(items), first))
                if isinstance(self._state, pager.Lost):
                    self._error = RemoteProtocolError(self._state.outcome.reason)
                else:
                    return self._drop_repeated(page)
        if self._error is not None:
            raise self._error
        return None

    def _drop_repeated(self, page: P) -> P:
        """Return the page without the objects of earlier pages, which are repeated if the list restarted."""
        all_items = _contents(page)[0]
        items = all_items if self._shard is None else in_shard(self._shard, all_items)
        has_more = isinstance(self._state, pager.Following)
        if self._restarted:
            items = [item for item in items if item.metadata is None or _key(item) not in self._returned_keys]
        elif has_more and self._plan.on_expired != "fail":
            self._returned_keys.update(_key(item) for item in items if item.metadata is not None)
        if len(items) == len(all_items):
            return page
        return replace(page, raw_rows=items) if isinstance(page, Table) else replace(page, items=items)

    def _advance(self, event: pager.Event) -> None:
        self._state, actions = pager.step(self._state, event, self._client.now())
        if any(isinstance(action, pager.Discard) for action in actions):
            self._restarted = True


class ListPages(Generic[K]):
    """The pages of a list. A page is requested when the iteration reaches it, and not earlier.

    If the version of the list expires between two pages, the remaining pages have a later version: no object
    is returned twice, and `consistent` is False from then on. With ``on_expired="fail"``, `Gone` is raised
    instead. After an error or a cancellation the iteration may be continued: the missing page is requested
    again.
    """

    def __init__(self, client: BaseClient, paging: Paging[ObjectList[K]]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far have the same version."""
        return self._paging.consistent

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ObjectList[K]:
        page = await self._client.run(self._paging.next())
        if page is None:
            raise StopAsyncIteration
        return page


class Items(Generic[K]):
    """The objects of a list. A page is requested when all objects of the previous page were returned."""

    def __init__(self, pages: ListPages[K]) -> None:
        self._pages = pages
        self._page: Iterator[K] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> K:
        while (item := next(self._page, None)) is None:
            self._page = iter((await anext(self._pages)).items)
        return item


class BlockingPages(Generic[K]):
    """A `ListPages` for threads."""

    def __init__(self, client: BlockingBaseClient, paging: Paging[ObjectList[K]]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far have the same version."""
        return self._paging.consistent

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ObjectList[K]:
        page = self._client.run(self._paging.next())
        if page is None:
            raise StopIteration
        return page


class BlockingItems(Generic[K]):
    """A `Items` for threads."""

    def __init__(self, pages: BlockingPages[K]) -> None:
        self._pages = pages
        self._page: Iterator[K] = iter(())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> K:
        while (item := next(self._page, None)) is None:
            self._page = iter(next(self._pages).items)
        return item


class TablePages:
    """The pages of a list as tables; see `ListPages`.

    If the version of the list expires, repeated rows are recognized by their metadata. So rows without
    metadata may be returned twice.
    """

    def __init__(self, client: BaseClient, paging: Paging[Table]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far have the same version."""
        return self._paging.consistent

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Table:
        page = await self._client.run(self._paging.next())
        if page is None:
            raise StopAsyncIteration
        return page


class BlockingTablePages:
    """A `TablePages` for threads."""

    def __init__(self, client: BlockingBaseClient, paging: Paging[Table]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far have the same version."""
        return self._paging.consistent

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Table:
        page = self._client.run(self._paging.next())
        if page is None:
            raise StopIteration
        return page


def _contents(page: ObjectList[Any] | Table) -> tuple[list[Any], str, str]:
    """Return the objects or rows of a page, its version, and the token of the next page."""
    if isinstance(page, Table):
        return page.rows, page.metadata.resource_version, page.metadata.continue_
    return page.items, page.version, page.next_page


def _key(item: Any) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
