"""A long list as an iterator: page by page, or object by object; each page is a request with its retries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar

from kubeproto import ApiError, KubeObject, ObjectList, RemoteProtocolError
from kubeproto.watching import pager
from kubeproto.wire import classify

from ._exchanges import first_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubeproto import Api

    from ._sync_client import BlockingClient

K = TypeVar("K", bound=KubeObject)

OnExpired: TypeAlias = Literal["fail", "go on"]


class BlockingPages(Generic[K]):
    """The pages of a list: each is asked for when the iteration comes to it, and none ahead.

    All are of one moment. If the server has forgotten that one midway, `Gone` ends it; "go on" takes the rest
    as it is by then, where the server offers that.
    """

    def __init__(
        self,
        client: BlockingClient,
        api: Api[K],
        *,
        limit: int,
        on_expired: OnExpired,
        selection: dict[str, Any],
    ) -> None:
        self._client = client
        self._api = api
        self._selection = selection
        plan = pager.Plan(limit=limit, on_expired=on_expired)
        self._state, actions = pager.step(pager.Ready(plan), pager.Started(), client.clock())
        self._next = _request(actions)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ObjectList[K]:
        while self._next is not None:
            send, self._next = self._next, None
            try:
                page = self._ask(send)
            except ApiError as error:
                self._tell(pager.Failed(classify(error)))
                if self._next is None:
                    raise
            else:
                first = first_of(page.items) if page.items else ""
                self._tell(pager.Listed(page.version, page.next_page, len(page.items), first))
                if isinstance(self._state, pager.Lost):
                    raise RemoteProtocolError(self._state.outcome.reason)
                return page
        raise StopIteration

    def _ask(self, send: pager.SendList) -> ObjectList[K]:
        request = self._api.list(limit=send.limit, continue_=send.token, **self._selection)
        return self._client.call(request).value

    def _tell(self, event: pager.Event) -> None:
        self._state, actions = pager.step(self._state, event, self._client.clock())
        self._next = _request(actions)


class BlockingItems(Generic[K]):
    """The objects of a list, one by one; a page is asked for when the one before is used up."""

    def __init__(self, pages: BlockingPages[K]) -> None:
        self._pages = pages
        self._page: Iterator[K] = iter(())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> K:
        while (item := next(self._page, None)) is None:
            self._page = iter(next(self._pages).items)
        return item


def _request(actions: tuple[pager.Action, ...]) -> pager.SendList | None:
    return next((action for action in actions if isinstance(action, pager.SendList)), None)
