"""A long list as an async iterator: page by page, or object by object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypedDict, TypeVar

import anyio

from kubeproto import ApiError, KubeObject, ObjectList, RemoteProtocolError
from kubeproto.watching import pager
from kubeproto.wire import classify

from ._exchanges import first_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from kubeproto import Api, FieldSelector, Selector, Shard

    from ._client import Client

K = TypeVar("K", bound=KubeObject)

OnExpired: TypeAlias = Literal["fail", "go on"]


class Selection(TypedDict, total=False):
    """Which objects are meant."""

    label_selector: str | Selector
    field_selector: str | FieldSelector
    shard_selector: str | Shard


class Pages(Generic[K]):
    """The pages of a list: each is asked for when the iteration comes to it, and none ahead.

    All are of one moment. If the server has forgotten that one midway, `Gone` ends it; "go on" takes the rest
    as it is by then, where the server offers that.
    """

    def __init__(
        self,
        client: Client,
        api: Api[K],
        *,
        limit: int,
        on_expired: OnExpired,
        selection: Selection,
    ) -> None:
        self._client = client
        self._api = api
        self._selection = selection
        plan = pager.Plan(limit=limit, on_expired=on_expired)
        self._state, actions = pager.step(pager.Ready(plan), pager.Started(), anyio.current_time())
        self._next = _request(actions)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ObjectList[K]:
        while self._next is not None:
            send, self._next = self._next, None
            try:
                page = await self._ask(send)
            except ApiError as error:
                self._tell(pager.Failed(classify(error)))
                if self._next is None:
                    raise
            else:
                self._tell(
                    pager.Listed(
                        page.metadata.resource_version,
                        page.metadata.continue_,
                        len(page.items),
                        first_of(page.items) if page.items else "",
                    )
                )
                if isinstance(self._state, pager.Lost):
                    raise RemoteProtocolError(self._state.outcome.reason)
                return page
        raise StopAsyncIteration

    async def _ask(self, send: pager.SendList) -> ObjectList[K]:
        request = self._api.list(limit=send.limit, continue_=send.token, **self._selection)
        return (await self._client.call(request)).value

    def _tell(self, event: pager.Event) -> None:
        self._state, actions = pager.step(self._state, event, anyio.current_time())
        self._next = _request(actions)


class Items(Generic[K]):
    """The objects of a list, one by one; a page is asked for when the one before is used up."""

    def __init__(self, pages: Pages[K]) -> None:
        self._pages = pages
        self._page: Iterator[K] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> K:
        while (item := next(self._page, None)) is None:
            self._page = iter((await anext(self._pages)).items)
        return item


def _request(actions: tuple[pager.Action, ...]) -> pager.SendList | None:
    return next((action for action in actions if isinstance(action, pager.SendList)), None)
