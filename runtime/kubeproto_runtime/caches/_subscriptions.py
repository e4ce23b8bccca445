"""`Subscription`: the world first, then what changes in it, for who takes his time.

Nobody waits for a subscriber. What he has not taken yet is one change a key: from what he was last told to
what is there now. So each batch brings his picture up to date, whatever he missed of the way:

    told before    came since            is told
    nothing        ADDED, MODIFIED…      ADDED, as it is now
    nothing        ADDED, DELETED        nothing: it never was in his picture
    an object      MODIFIED, MODIFIED…   MODIFIED, from what he knows to what is there
    an object      MODIFIED, DELETED     DELETED
    an object      DELETED, ADDED        MODIFIED; `Change.replaced` says that it is another one

This is what a reconciler expects of any Kubernetes client: levels, not edges. Go's informers keep each event
for each handler, without bound; who needs that has `listen`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import anyio

from kubeproto import KubeObject
from kubeproto.control import Change

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

K = TypeVar("K", bound=KubeObject)


class ChangeSource(Protocol[K]):
    """What can be subscribed to."""

    @property
    def synced(self) -> bool:
        """Whether there is a world."""
        ...

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Have this called with the world, if there is one, and then with all changes."""
        ...

    def notify(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have this called when there is a world, and when nothing comes any more."""
        ...

    @property
    def closed(self) -> bool:
        """Whether nothing comes any more."""
        ...


class Subscription(Generic[K]):
    """Batches of changes: enter it, and iterate. The first batch is the world, even an empty one.

    It ends when the caches are closed.
    """

    def __init__(self, source: ChangeSource[K]) -> None:
        self._source = source
        self._pending: dict[str, Change[K]] = {}
        self._first = True
        self._wake: anyio.Event | None = None
        self._ends: list[Callable[[], None]] = []

    async def __aenter__(self) -> Self:
        if self._ends:
            raise RuntimeError("this subscription has been entered already")
        self._ends = [self._source.listen(self._take), self._source.notify(self._set)]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for end in self._ends:
            end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Change[K]]:
        if not self._ends:
            raise RuntimeError(
                "a subscription begins when it is entered: async with cache.subscribe() as news"
            )
        while not (self._pending or (self._first and self._source.synced)):
            if self._source.closed:
                raise StopAsyncIteration
            if self._wake is None or self._wake.is_set():
                self._wake = anyio.Event()  # one for all who wait: each batch goes to one of them
            await self._wake.wait()
        self._first = False
        batch, self._pending = list(self._pending.values()), {}
        return batch

    def _take(self, changes: list[Change[K]]) -> None:
        pending = self._pending
        for change in changes:
            merged = merge(pending.get(change.key), change)
            if merged is None:
                del pending[change.key]
            else:
                pending[change.key] = merged
        self._set()

    def _set(self) -> None:
        if self._wake is not None:
            self._wake.set()


def merge(before: Change[K] | None, change: Change[K]) -> Change[K] | None:
    """One change out of two of the same key, one after the other; None if they undo each other."""
    if before is None:
        return change
    # Nothing was there, as far as one knows who has not been told of the first.
    old = before.old
    if change.type == "DELETED":
        return None if old is None else Change(change.kind, "DELETED", change.key, old, change.new)
    if old is None:
        return Change(change.kind, "ADDED", change.key, None, change.new, before.initial)
    return Change(change.kind, "MODIFIED", change.key, old, change.new, before.initial)
