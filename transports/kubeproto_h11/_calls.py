"""`Calling`: requests on pooled connections, and their responses. It knows no event loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from kubeproto import (
    DeadlineExceeded,
    KubeprotoError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from kubeproto.wire import UpgradeRequest

from ._byte_streams import ByteStream
from ._exchange import Exchange, ResponseHead
from ._replays import may_replay
from ._requests import addressed, named
from ._upgrades import Upgrade
from ._websockets import WebSocketStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto.config import Connection
    from kubeproto.wire import Head, Headers

    from ._connection_pool import ConnectionPool

L = TypeVar("L", bound=ByteStream)

# No more of the refusal of a WebSocket is read. A Status is a few hundred bytes.
_MAX_REFUSAL: Final = 1 << 20


class Call(Generic[L]):
    """An exchange and its connection. `deadline` bounds all of it, `idle` each wait for a head or piece.

    A byte that completes neither a head nor a piece does not extend a wait: a server may send one now and
    then.
    """

    def __init__(
        self,
        stream: L,
        exchange: Exchange,
        head: Head,
        *,
        clock: Callable[[], float],
        deadline: float,
        idle: float | None,
    ) -> None:
        self.stream = stream
        self._exchange = exchange
        self._method = head.method
        self._check = head.check
        self._clock = clock
        self._deadline = deadline
        self._idle = idle
        # A large body takes time, and the server is silent meanwhile.
        self._silent_first = exchange.has_body
        self._reused = stream.used
        self._begun = False
        self._sent = False
        self._head_by: float | None = None
        self._first = b""  # the bytes of the body that arrived with the head

    @property
    def over(self) -> bool:
        """True if both sides are done, so that the connection can be reused."""
        return self._sent and self._exchange.reusable

    def may_replay_after(self, error: BaseException) -> bool:
        """True if a stale connection fails like this, and the request may be sent once more."""
        if isinstance(error, DeadlineExceeded) or not isinstance(error, TransportError):
            return False
        return may_replay(
            self._method, reused=self._reused, begun=self._begun, touched=self._exchange.touched
        )

    @property
    def rest(self) -> bytes:
        """The bytes after the response, which belong to the new protocol."""
        return self._exchange.rest

    async def ask(self) -> ResponseHead:
        """Send the request and wait for the head of its response."""
        if self._check is not None:
            self._check()
        self._begun = True
        self._sent = await self.stream.send_and_listen(self._exchange.outgoing, self._listen)
        if self._exchange.response is None:
            raise LocalProtocolError("a connection reported that it had listened, and had not")
        return self._exchange.response

    async def piece(self) -> bytes:
        """The next piece of the body; empty at its end."""
        if self._first:
            piece, self._first = self._first, b""
            return piece
        by = math.inf if self._idle is None else self._clock() + self._idle
        while not self._exchange.finished:
            if piece := await self._receive(by):
                return piece
        return b""

    async def _listen(self) -> None:
        while self._exchange.response is None:
            self._first = await self._receive(self._until_head())

    def _until_head(self) -> float:
        if self._idle is None or (self._silent_first and not self._exchange.touched):
            return math.inf
        if self._head_by is None:
            self._head_by = self._clock() + self._idle
        return self._head_by

    async def _receive(self, limit: float) -> bytes:
        """Wait for bytes; return those of the body."""
        by = min(self._deadline, limit)
        heard = await self.stream.receive(by)
        if heard:
            try:
                return self._exchange.feed(heard)
            except RemoteProtocolError as error:
                problem = str(error)
            # Without the frames in which it was raised, whose variables hold the received bytes.
            del heard
            raise RemoteProtocolError(problem)
        if heard is not None:
            self._exchange.close()
            return b""
        if by < self._deadline:
            what = "the server was silent" if self._exchange.response else "no whole head came"
            raise DeadlineExceeded(f"{what} for {self._idle:g} s")
        raise DeadlineExceeded("the time given ran out before the response ended")


class IncomingResponse(Generic[L]):
    """A response whose body is still arriving: iterate for its bytes, once, inside its context."""

    def __init__(self, head: Head, response: ResponseHead, call: Call[L]) -> None:
        self.status = response.status
        self.headers: Headers = response.headers
        self._head = head
        self._call: Call[L] | None = call

    def __repr__(self) -> str:
        return f"<{named(self._head)}: {self.status}>"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._call is None:
            raise LocalProtocolError(
                f"{named(self._head)}: a body is read inside its context, and that was left"
            )
        try:
            piece = await self._call.piece()
        except (TransportError, RemoteProtocolError) as error:
            raise _of(self._head, error) from error.__cause__
        if not piece:
            raise StopAsyncIteration
        return piece

    def leave(self) -> Call[L] | None:
        """The context is left: the next bytes of the connection belong to another response."""
        call, self._call = self._call, None
        return call


class Calling(Generic[L]):
    """Sends requests to one server over pooled connections, and releases each connection."""

    def __init__(
        self, connection: Connection, lending: ConnectionPool[L], *, clock: Callable[[], float]
    ) -> None:
        self._connection = connection
        self._pool = lending
        self._clock = clock

    async def begin(
        self, head: Head, deadline: float = math.inf, idle: float | None = None
    ) -> IncomingResponse[L]:
        """Send a request and wait for the head of its response, which must be passed to `end`."""
        if isinstance(head, UpgradeRequest):
            raise LocalProtocolError(f"{named(head)}: it becomes a WebSocket; call `upgrade`, not `send`")
        try:
            call, response = await self._ask(addressed(head, self._connection), deadline, idle)
        except (TransportError, RemoteProtocolError, LocalProtocolError) as error:
            raise _of(head, error) from error.__cause__
        return IncomingResponse(head, response, call)

    def end(self, incoming: IncomingResponse[L]) -> None:
        """Return the connection of a response that is not needed any more to the pool, or close it."""
        call = incoming.leave()
        if call is None:
            return
        if call.over:
            self._pool.release(call.stream)
        else:
            self._pool.discard(call.stream)

    async def upgrade(
        self, upgrade: Upgrade, deadline: float = math.inf, idle: float | None = None
    ) -> WebSocketStream[L]:
        """Make a WebSocket of a request. The result must be passed to `hang_up`."""
        request = upgrade.request
        head = addressed(upgrade.asking, self._connection)
        exchange = Exchange(head)
        # Never on a connection that may be stale: a command must not be started twice.
        stream = await self._pool.take(fresh=True)
        call = Call(stream, exchange, head, clock=self._clock, deadline=deadline, idle=None)
        try:
            response = await call.ask()
            if response.status != 101:
                raise request.refused(response.status, response.headers, await _beginning(call))
            protocol = upgrade.agreed(response)
            from ._framing import Framing  # imported when a WebSocket is opened, because it imports wsproto

            framing = Framing(call.rest)
            return WebSocketStream(stream, framing, protocol, named(request), clock=self._clock, idle=idle)
        except (TransportError, RemoteProtocolError, LocalProtocolError) as error:
            self._pool.discard(stream)
            raise _of(request, error) from error.__cause__
        except BaseException:
            self._pool.discard(stream)
            raise

    def hang_up(self, socket: WebSocketStream[L]) -> None:
        """Close the connection of a WebSocket that is not needed any more."""
        self._pool.discard(socket.stream)

    async def _ask(self, head: Head, deadline: float, idle: float | None) -> tuple[Call[L], ResponseHead]:
        """Send a call and read the head of its response; once more if the connection was stale."""
        for fresh in (False, True):
            exchange = Exchange(head)
            stream = await self._pool.take(fresh=fresh)
            call = Call(stream, exchange, head, clock=self._clock, deadline=deadline, idle=idle)
            try:
                return call, await call.ask()
            except BaseException as error:
                self._pool.discard(stream)
                if not call.may_replay_after(error):
                    raise
        raise AssertionError("a fresh connection is never stale")


async def _beginning(call: Call[L]) -> bytes:
    """Return the body of a response if its size is reasonable; otherwise its beginning."""
    pieces: list[bytes] = []
    size = 0
    while size < _MAX_REFUSAL and (piece := await call.piece()):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _of(head: Head, error: KubeprotoError) -> KubeprotoError:
    """Return the error with the name of its request, once: that of a refused upgrade has it already."""
    name, text = named(head), str(error)
    return error if text.startswith(name) else type(error)(f"{name}: {text}")
