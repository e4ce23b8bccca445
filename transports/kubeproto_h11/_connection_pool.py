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
        self.line: L | None = None
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
        self._lines: dict[int, L] = {}
        self._numbers: dict[L, int] = {}

    async def take(self, *, fresh: bool = False) -> L:
        """Return an idle connection, or a new one; if `fresh`, always a new one."""
        while True:
            ticket = next(self._tickets)
            line = await self._ask(ticket, fresh=fresh)
            if line is None:
                return await self._open(ticket)
            if not line.stale:
                return line
            self.discard(line)

    def release(self, line: L) -> None:
        """Return a connection that can be reused to the pool."""
        line.used = True
        self._advance(Released(self._numbers[line]))

    def discard(self, line: L) -> None:
        """Close a connection that cannot be reused."""
        line.close()
        number = self._numbers.pop(line)
        del self._lines[number]
        self._advance(Lost(number))

    def close(self) -> None:
        """Close all connections; a request that uses one fails with a `TransportError`."""
        self._advance(Ended())
        for line in self._lines.values():
            line.close()

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
        return asking.line

    def _give_up(self, ticket: int, asking: _Asking[L]) -> None:
        """Note that the request was cancelled while it waited, perhaps after the pool's decision."""
        if self._asking.pop(ticket, None) is not None:
            self._advance(Left(ticket))
        elif asking.line is not None:
            self._advance(Released(self._numbers[asking.line]))
        elif not asking.refused:
            self._advance(Lost(ticket))

    async def _open(self, number: int) -> L:
        try:
            line = await self._dial()
        except BaseException:
            self._advance(Lost(number))
            raise
        if isinstance(self._pool, Ending):
            line.close()
            self._advance(Lost(number))
            raise TransportError("the transport is closed")
        self._lines[number], self._numbers[line] = line, number
        return line

    def _advance(self, event: Event) -> None:
        self._pool, actions = step(self._pool, event, self._clock())
        for action in actions:
            match action:
                case Use(ticket, number):
                    self._answer(ticket).line = self._lines[number]
                case Open(ticket):
                    self._answer(ticket)
                case Refuse(ticket):
                    self._answer(ticket).refused = True
                case Close(number):
                    line = self._lines.pop(number)
                    del self._numbers[line]
                    line.close()

    def _answer(self, ticket: int) -> _Asking[L]:
        asking = self._asking.pop(ticket)
        asking.told.set()
        return asking
