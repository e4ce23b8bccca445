"""`ConnectionPool`: the connections of a transport, assigned as the machine `pool` decides.

It depends on no event loop: a clock, a signal and a function that opens connections are arguments.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

from kubeproto import TransportError

from . import pool
from ._byte_streams import ByteStream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kubeproto.wire import Signal

StreamT = TypeVar("StreamT", bound=ByteStream)


class _Ticket(Generic[StreamT]):
    """A request for a connection, and the pool's decision: a connection, to open one, or a refusal."""

    def __init__(self, decided: Signal) -> None:
        self.decided = decided
        self.stream: StreamT | None = None
        self.refused = False


class ConnectionPool(Generic[StreamT]):
    """Assigns a connection to each request, which returns it once, by `release` or `discard`."""

    def __init__(
        self,
        open_stream: Callable[[], Awaitable[StreamT]],
        limits: pool.Limits,
        *,
        clock: Callable[[], float],
        signal: Callable[[], Signal],
    ) -> None:
        self._open_stream = open_stream
        self._clock = clock
        self._signal = signal
        self._state: pool.State = pool.Pool(limits)
        self._ticket_numbers = count()
        self._tickets: dict[int, _Ticket[StreamT]] = {}  # those that wait for a decision
        self._streams: dict[int, StreamT] = {}
        self._numbers: dict[StreamT, int] = {}

    async def acquire(self, *, fresh: bool = False) -> StreamT:
        """Return an idle or a new connection; if `fresh`, always a new connection."""
        while True:
            number = next(self._ticket_numbers)
            stream = await self._request(number, fresh=fresh)
            if stream is None:
                return await self._open(number)
            if not stream.stale:
                return stream
            self.discard(stream)

    def release(self, stream: StreamT) -> None:
        """Return a connection that can be reused."""
        stream.used = True
        self._step(pool.Released(self._numbers[stream]))

    def discard(self, stream: StreamT) -> None:
        """Close a connection that cannot be reused."""
        stream.close()
        number = self._numbers.pop(stream)
        del self._streams[number]
        self._step(pool.Lost(number))

    def close(self) -> None:
        """Close all connections; a request that uses one fails with a `TransportError`."""
        self._step(pool.Closed())
        for stream in self._streams.values():
            stream.close()

    async def _request(self, number: int, *, fresh: bool) -> StreamT | None:
        """Return the connection that the pool assigns; None if this request has to open one."""
        ticket = self._tickets[number] = _Ticket[StreamT](self._signal())
        self._step(pool.Requested(number, fresh))
        if number in self._tickets:
            try:
                await ticket.decided.wait()
            except BaseException:
                self._cancel(number, ticket)
                raise
        if ticket.refused:
            raise TransportError("the transport is closed")
        return ticket.stream

    def _cancel(self, number: int, ticket: _Ticket[StreamT]) -> None:
        # The cancellation may arrive after the decision, when the connection would otherwise leak.
        if self._tickets.pop(number, None) is not None:
            self._step(pool.Cancelled(number))
        elif ticket.stream is not None:
            self._step(pool.Released(self._numbers[ticket.stream]))
        elif not ticket.refused:
            self._step(pool.Lost(number))

    async def _open(self, number: int) -> StreamT:
        try:
            stream = await self._open_stream()
        except BaseException:
            self._step(pool.Lost(number))
            raise
        if isinstance(self._state, pool.Closing):
            stream.close()
            self._step(pool.Lost(number))
            raise TransportError("the transport was closed while it opened a connection")
        self._streams[number], self._numbers[stream] = stream, number
        return stream

    def _step(self, event: pool.Event) -> None:
        self._state, actions = pool.step(self._state, event, self._clock())
        for action in actions:
            match action:
                case pool.Assign(ticket, number):
                    self._decide(ticket).stream = self._streams[number]
                case pool.Open(ticket):
                    self._decide(ticket)
                case pool.Refuse(ticket):
                    self._decide(ticket).refused = True
                case pool.Close(number):
                    stream = self._streams.pop(number)
                    del self._numbers[stream]
                    stream.close()

    def _decide(self, number: int) -> _Ticket[StreamT]:
        ticket = self._tickets.pop(number)
        ticket.decided.set()
        return ticket
