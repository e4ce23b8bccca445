"""`ConnectionPool`: the connections of a transport, handed out as `pool` decides. It knows no event loop."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

from kubeproto import TransportError

from ._byte_streams import ByteStream
from .pool import (
    Asked,
    Close,
    Ended,
    Ending,
    Event,
    Left,
    Limits,
    Lost,
    Open,
    Pool,
    Refuse,
    Released,
    State,
    Use,
    step,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kubeproto.wire import Signal

L = TypeVar("L", bound=ByteStream)


class _Asking(Generic[L]):
    """A request for a connection, and the pool's decision: a connection, to open one, or a refusal."""

    def __init__(self, told: Signal) -> None:
        self.told = told
        self.stream: L | None = None
        self.refused = False


class ConnectionPool(Generic[L]):
    """Hands out connections, one to a request, which returns it once, by `release` or `discard`."""

    def __init__(
        self,
        dial: Callable[[], Awaitable[L]],
        limits: Limits,
        *,
        clock: Callable[[], float],
        signal: Callable[[], Signal],
    ) -> None:
        self._dial = dial
        self._clock = clock
        self._signal = signal
        self._pool: State = Pool(limits)
        self._tickets = count()
        self._asking: dict[int, _Asking[L]] = {}
        self._streams: dict[int, L] = {}
        self._numbers: dict[L, int] = {}

    async def take(self, *, fresh: bool = False) -> L:
        """Return an idle connection, or a new one; if `fresh`, always a new one."""
        while True:
            ticket = next(self._tickets)
            stream = await self._ask(ticket, fresh=fresh)
            if stream is None:
                return await self._open(ticket)
            if not stream.stale:
                return stream
            self.discard(stream)

    def release(self, stream: L) -> None:
        """Return a connection that can be reused to the pool."""
        stream.used = True
        self._advance(Released(self._numbers[stream]))

    def discard(self, stream: L) -> None:
        """Close a connection that cannot be reused."""
        stream.close()
        number = self._numbers.pop(stream)
        del self._streams[number]
        self._advance(Lost(number))

    def close(self) -> None:
        """Close all connections; a request that uses one fails with a `TransportError`."""
        self._advance(Ended())
        for stream in self._streams.values():
            stream.close()

    async def _ask(self, ticket: int, *, fresh: bool) -> L | None:
        """Return the connection that the pool hands out; None if this request has to open one."""
        asking = self._asking[ticket] = _Asking[L](self._signal())
        self._advance(Asked(ticket, fresh))
        if ticket in self._asking:
            try:
                await asking.told.wait()
            except BaseException:
                self._give_up(ticket, asking)
                raise
        if asking.refused:
            raise TransportError("the transport is closed")
        return asking.stream

    def _give_up(self, ticket: int, asking: _Asking[L]) -> None:
        """Note that the request was cancelled while it waited, perhaps after the pool's decision."""
        if self._asking.pop(ticket, None) is not None:
            self._advance(Left(ticket))
        elif asking.stream is not None:
            self._advance(Released(self._numbers[asking.stream]))
        elif not asking.refused:
            self._advance(Lost(ticket))

    async def _open(self, number: int) -> L:
        try:
            stream = await self._dial()
        except BaseException:
            self._advance(Lost(number))
            raise
        if isinstance(self._pool, Ending):
            stream.close()
            self._advance(Lost(number))
            raise TransportError("the transport is closed")
        self._streams[number], self._numbers[stream] = stream, number
        return stream

    def _advance(self, event: Event) -> None:
        self._pool, actions = step(self._pool, event, self._clock())
        for action in actions:
            match action:
                case Use(ticket, number):
                    self._answer(ticket).stream = self._streams[number]
                case Open(ticket):
                    self._answer(ticket)
                case Refuse(ticket):
                    self._answer(ticket).refused = True
                case Close(number):
                    stream = self._streams.pop(number)
                    del self._numbers[stream]
                    stream.close()

    def _answer(self, ticket: int) -> _Asking[L]:
        asking = self._asking.pop(ticket)
        asking.told.set()
        return asking
