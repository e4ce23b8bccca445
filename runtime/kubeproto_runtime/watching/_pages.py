"""A long list as an iterator: page by page, object by object, or as tables."""

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
    """Which objects are selected."""

    label_selector: str | Selector
    field_selector: str | FieldSelector
    shard_selector: str | Shard


class Lists(Protocol[P]):
    """The interface that makes the request for a page: the verbs on a kind, or their tables."""

    @property
    def list(self) -> Callable[..., Request[P]]:
        """Read the objects, or a page of them."""
        ...


class Paging(Generic[P]):
    """The pages of one list. A page that failed, or was cancelled, is requested again by the next call."""

    def __init__(
        self,
        client: ClientCore,
        api: Lists[P],
        *,
        limit: int,
        on_expired: OnExpired,
        selection: Selection,
    ) -> None:
        self._client = client
        self._api = api
        self._selection = selection
        self._shard = shard_of(selection)
        self._seen: set[tuple[str, str]] = set()
        self._anew = False
        self._plan = pager.Plan(limit=limit, on_expired=on_expired)
        self._state: pager.State = pager.Ready(self._plan)
        self._lost: Exception | None = None
        self._advance(pager.Started())

    @property
    def consistent(self) -> bool:
        """Whether all pages so far show one moment: False if the list continued after its version expired."""
        return not self._anew and getattr(self._state, "consistent", True)

    def next(self) -> Effects[P | None]:
        """Return the next page; None after the last."""
        while isinstance(self._state, pager.First | pager.Following | pager.Whole):
            now = self._client.now()
            send = pager.request(self._state, earliest=now, latest=now)
            request = self._api.list(limit=send.limit, continue_=send.token, **self._selection)
            try:
                page = (yield from call(self._client, request)).value
            except ApiError as error:
                outcome = classify(error)
                if not isinstance(outcome, Expired):
                    raise  # the pages before it are valid, and the same page may be served later
                self._advance(pager.Failed(outcome))
                if isinstance(self._state, pager.Lost):
                    self._lost = error
            else:
                items, version, token = _contents(page)
                first = first_name(items)
                self._advance(pager.Listed(version, token, len(items), first))
                if isinstance(self._state, pager.Lost):
                    self._lost = RemoteProtocolError(self._state.outcome.reason)
                else:
                    return self._new_ones(page)
        if self._lost is not None:
            raise self._lost
        return None

    def _new_ones(self, page: P) -> P:
        """Return the page without objects of earlier ones, which recur where the list began again."""
        all_items = _contents(page)[0]
        items = all_items if self._shard is None else in_shard(self._shard, all_items)
        more = isinstance(self._state, pager.Following)
        if self._anew:
            items = [item for item in items if item.metadata is None or _key(item) not in self._seen]
        elif more and self._plan.on_expired != "fail":
            self._seen.update(_key(item) for item in items if item.metadata is not None)
        if len(items) == len(all_items):
            return page
        return replace(page, raw_rows=items) if isinstance(page, Table) else replace(page, items=items)

    def _advance(self, event: pager.Event) -> None:
        self._state, actions = pager.step(self._state, event, self._client.now())
        if any(isinstance(action, pager.Discard) for action in actions):
            self._anew = True


class ListPages(Generic[K]):
    """The pages of a list: each is requested when the iteration comes to it, and none ahead.

    If the server forgets the version of the list midway, the rest is of a later moment: no object comes
    twice, and `consistent` is False from then on. With "fail" that is a `Gone`. An iteration that ended with
    an error, or was cancelled, may be continued: the page that is missing is requested again.
    """

    def __init__(self, client: BaseClient, paging: Paging[ObjectList[K]]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far are of one moment."""
        return self._paging.consistent

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ObjectList[K]:
        page = await self._client.run(self._paging.next())
        if page is None:
            raise StopAsyncIteration
        return page


class Items(Generic[K]):
    """The objects of a list, one by one; a page is requested when the one before is used up."""

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
    """The same for threads; see `ListPages`."""

    def __init__(self, client: BlockingBaseClient, paging: Paging[ObjectList[K]]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far are of one moment."""
        return self._paging.consistent

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ObjectList[K]:
        page = self._client.run(self._paging.next())
        if page is None:
            raise StopIteration
        return page


class BlockingItems(Generic[K]):
    """The same for threads; see `Items`."""

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
    """The pages of a list as tables, each requested when the iteration comes to it; see `ListPages`.

    Where the list began again, only rows that include their metadata can be told to be the same.
    """

    def __init__(self, client: BaseClient, paging: Paging[Table]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far are of one moment."""
        return self._paging.consistent

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Table:
        page = await self._client.run(self._paging.next())
        if page is None:
            raise StopAsyncIteration
        return page


class BlockingTablePages:
    """The same for threads; see `TablePages`."""

    def __init__(self, client: BlockingBaseClient, paging: Paging[Table]) -> None:
        self._client = client
        self._paging = paging

    @property
    def consistent(self) -> bool:
        """Whether all pages so far are of one moment."""
        return self._paging.consistent

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Table:
        page = self._client.run(self._paging.next())
        if page is None:
            raise StopIteration
        return page


def _contents(page: ObjectList[Any] | Table) -> tuple[list[Any], str, str]:
    """Return the objects or rows of a page, its version, and the token of the next one."""
    if isinstance(page, Table):
        return page.rows, page.metadata.resource_version, page.metadata.continue_
    return page.items, page.version, page.next_page


def _key(item: Any) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
