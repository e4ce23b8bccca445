"""One list or watch under way: a request is sent, and its response is read a chunk at a time.

Chunks are passed to the machine as they come; the outcome is returned, and passed on once it is closed.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import anyio

from kubeproto import DeadlineExceeded, KubeObject, TransportError, WatchFailed
from kubeproto.watching import ListDecoder, WatchDecoder, resync
from kubeproto.wire import REFUSAL_TIME, classify, is_enough

from ..tasks._turns import SLICE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from kubeproto import Api, Head, Incoming, WatchEvent

    from ..calls._base_client import BaseClient
    from ..tasks._turns import Turns

K = TypeVar("K", bound=KubeObject)

End: TypeAlias = resync.Listed | resync.Closed | resync.Failed


class Notify(Protocol):
    """Takes an event of the machine, and the objects that arrived with it."""

    def __call__(self, event: resync.Event, batch: list[Any] | None = None) -> None:
        """Take it."""
        ...


class PacedExchange:
    """A request and its response. One that is `dropped` reports nothing more, and has to be closed."""

    def __init__(self, notify: Notify, turns: Turns) -> None:
        self.dropped = False
        self._notify = notify
        self._turns = turns
        self._stack = AsyncExitStack()
        self._size = 0
        self._progressed = False  # an object was completed since the last look
        self._progress = 0.0  # when that was seen, or when the head came

    async def open(self) -> None:
        """Send the request, and wait for the head of its response."""
        raise NotImplementedError

    async def receive(self) -> End | None:
        """Take the next chunk; return the outcome at the end."""
        try:
            chunk = await (self._next_of_refusal() if self._refused else anext(self._chunks))
        except StopAsyncIteration:
            return None if self.dropped else self._finish()
        except TransportError:
            if self.dropped or not self._refused:
                raise
            return self._finish()  # it is a refusal; the reason is in the part that arrived
        if self.dropped:  # while this was waited for
            return None
        self._size += len(chunk)
        for piece in _slices(chunk):
            end = await self._feed_in_turn(piece)
            if end is not None or self.dropped:
                return end
        return self._check_progress()

    async def _feed_in_turn(self, piece: bytes) -> End | None:
        if self._turns.over:
            await self._turns.wait()
        self._turns.take(len(piece))
        return None if self.dropped else self._feed(piece)

    async def _next_of_refusal(self) -> bytes:
        """Return the next chunk. A watch may be silent for ten minutes, and its refusal may not."""
        with anyio.move_on_after(REFUSAL_TIME):
            return await anext(self._chunks)
        raise DeadlineExceeded(f"{self._request.method}: no more of a refusal came in {REFUSAL_TIME:g} s")

    def _check_progress(self) -> End | None:
        """End a response without progress, even if bytes arrive."""
        now = anyio.current_time()
        if self._progressed:
            self._progress, self._progressed = now, False
        elif self._refused and is_enough(self._status, self._size, now - self._progress):
            return self._finish()
        elif self._idle is not None and now - self._progress >= self._idle:
            what = f"{self._request.method} {self._request.target.partition('?')[0]}"
            raise DeadlineExceeded(f"{what}: bytes came, and no object in {self._idle:g} s")
        return None

    async def close(self, error: BaseException | None = None) -> None:
        """Leave the response, complete or not, with or without an error."""
        try:
            await self._stack.__aexit__(None if error is None else type(error), error, None)
        except BaseException as again:
            if again is not error:
                raise

    async def _send(
        self, client: BaseClient, request: Head, *, idle: float | None, timeout: float | None
    ) -> Incoming:
        self._request, self._idle = request, idle
        with client.outgoing(request, client.transport) as sent:
            response = client.transport.send(sent.head, idle=idle, timeout=timeout)
            incoming = await self._stack.enter_async_context(response)
            sent.responded(incoming.status)
        self._progress = anyio.current_time()
        self._status = incoming.status
        self._refused = not 200 <= incoming.status < 300
        self._chunks: AsyncIterator[bytes] = aiter(incoming)
        # A generator would be left to the garbage collector, which trio warns about.
        if (close := getattr(self._chunks, "aclose", None)) is not None:
            self._stack.push_async_callback(close)
        return incoming

    def _feed(self, piece: bytes) -> End | None:
        raise NotImplementedError

    def _finish(self) -> End | None:
        raise NotImplementedError


class ListExchange(PacedExchange, Generic[K]):
    """A page of a list."""

    def __init__(
        self,
        client: BaseClient,
        api: Api[K],
        planned: resync.SendList,
        selection: dict[str, Any],
        notify: Notify,
    ) -> None:
        super().__init__(notify, client.turns)
        self._client = client
        self._kind = api.kind
        self._planned = planned
        self._first = ""
        self._list = api.list(
            resource_version=planned.version,
            resource_version_match="NotOlderThan" if planned.match else "",
            limit=planned.limit,
            continue_=planned.token,
            **selection,
        )

    async def open(self) -> None:
        """Send the request, and wait for the head of its response."""
        planned = self._planned
        incoming = await self._send(self._client, self._list, idle=planned.idle, timeout=planned.timeout)
        self._decoder = ListDecoder(self._kind, status=incoming.status, headers=incoming.headers)

    def _feed(self, piece: bytes) -> End | None:
        return self._stage(self._decoder.feed(piece))

    def _finish(self) -> End | None:
        if (end := self._stage(self._decoder.finish())) is not None or self.dropped:
            return end
        metadata = self._decoder.metadata
        return resync.Listed(metadata.resource_version, metadata.continue_, 0, self._first)

    def _stage(self, items: list[Any]) -> End | None:
        if items and isinstance(last := items[-1], WatchFailed):
            return resync.Failed(classify(last.status))
        if items:
            self._progressed = True
            self._first = self._first or first_of(items)
        self._notify(resync.Received(len(items)), items)
        return None


class WatchExchange(PacedExchange, Generic[K]):
    """A watch, which may begin with a streaming list."""

    def __init__(
        self,
        client: BaseClient,
        api: Api[K],
        planned: resync.SendWatch,
        selection: dict[str, Any],
        notify: Notify,
    ) -> None:
        super().__init__(notify, client.turns)
        self._client = client
        self._kind = api.kind
        self._planned = planned
        seconds = client.random.randint(*planned.seconds)
        self._timeout = seconds + planned.grace
        self._watch = api.watch(
            resource_version=planned.version,
            send_initial_events=planned.initial or None,
            timeout_seconds=seconds,
            **selection,
        )

    async def open(self) -> None:
        """Send the request, and wait for the head of its response."""
        idle, timeout = self._planned.idle, self._timeout
        incoming = await self._send(self._client, self._watch, idle=idle, timeout=timeout)
        # The sink keeps everything that arrives, so each line is read to its last byte at once.
        self._decoder = WatchDecoder(
            self._kind, status=incoming.status, headers=incoming.headers, checked=True
        )
        if not self._refused:
            self._notify(resync.Opened())

    def _feed(self, piece: bytes) -> End | None:
        news = self._decoder.feed(piece)
        # The reason of a refusal is known at its end.
        return None if self._refused else self._receive(news)

    def _finish(self) -> End | None:
        rest = self._decoder.finish()
        end = self._receive(rest) if rest else None
        return end if end is not None or self.dropped else resync.Closed()

    def _receive(self, events: list[WatchEvent[K]]) -> End | None:
        self._progressed = self._progressed or bool(events)
        for batch, event in resync.digest(events):
            if isinstance(event, resync.Failed):
                return event
            self._notify(event, batch)
            if self.dropped:
                break
        return None


def first_of(items: Sequence[Any]) -> str:
    """Return the name of the first object of a page; "" if it has no name."""
    metadata = items[0].metadata
    return "" if metadata is None else f"{metadata.namespace}/{metadata.name}"


def _slices(chunk: bytes) -> Sequence[bytes]:
    if len(chunk) <= SLICE:
        return (chunk,)
    return [chunk[at : at + SLICE] for at in range(0, len(chunk), SLICE)]
