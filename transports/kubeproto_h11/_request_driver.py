"""`RequestDriver`: requests on pooled connections, and their responses, on any event loop."""

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
from ._exchange import Exchange, ResponseHead, prepare_request, request_name
from ._websocket_handshake import WebSocketHandshake
from ._websocket_streams import WebSocketStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto.config import Connection
    from kubeproto.wire import Headers, RawRequest

    from ._connection_pool import ConnectionPool

StreamT = TypeVar("StreamT", bound=ByteStream)

# At most this much of a refused WebSocket's response is read. A Status has a few hundred bytes.
_MAX_REFUSAL: Final = 1 << 20


def may_replay(method: str, *, reused: bool, started: bool, response_started: bool) -> bool:
    """Return whether a request whose connection was lost may be sent again, on a new connection.

    A server may close an idle connection at the moment when a request is sent on it, and the failure looks
    like that of a server that died after it had applied the request. So only a `reused` connection may have
    been stale, only before a byte of a response (`response_started`), and only a request that is safe to
    repeat or of which no byte was sent (`started`). The second attempt is on a new connection, so there is no
    third.
    """
    if not reused or response_started:
        return False
    return not started or method in ("GET", "HEAD")


class ActiveExchange(Generic[StreamT]):
    """An exchange on its connection. `deadline` bounds all of it, `idle` each wait for a head or for data.

    A byte that completes neither a head nor data does not extend a wait: a server may send a byte now and
    then forever.
    """

    def __init__(
        self,
        stream: StreamT,
        exchange: Exchange,
        request: RawRequest,
        *,
        clock: Callable[[], float],
        deadline: float,
        idle: float | None,
    ) -> None:
        self.stream = stream
        self._exchange = exchange
        self._method = request.method
        self._check = request.check
        self._clock = clock
        self._deadline = deadline
        self._idle = idle
        self._reused = stream.used
        self._started = False
        self._sent = False
        self._head_deadline: float | None = None
        self._first_data = b""  # the bytes of the body that arrived with the head

    @property
    def reusable(self) -> bool:
        """True if both sides are finished, so that the connection can be reused."""
        return self._sent and self._exchange.reusable

    @property
    def trailing_data(self) -> bytes:
        """The bytes after the response, which belong to the new protocol."""
        return self._exchange.trailing_data

    def may_replay_after(self, error: BaseException) -> bool:
        """Return whether a stale connection fails like this, and the request may be sent again."""
        if isinstance(error, DeadlineExceeded) or not isinstance(error, TransportError):
            return False
        return may_replay(
            self._method,
            reused=self._reused,
            started=self._started,
            response_started=self._exchange.response_started,
        )

    async def send_request(self) -> ResponseHead:
        """Send the request and return the head of its response."""
        if self._check is not None:
            self._check()
        self._started = True
        self._sent = await self.stream.send_and_listen(self._exchange.outgoing, self._receive_head)
        if self._exchange.response is None:
            raise LocalProtocolError(
                "send_and_listen of the connection returned before `listen` had finished"
            )
        return self._exchange.response

    async def read(self) -> bytes:
        """Return the next bytes of the body; empty at its end."""
        if self._first_data:
            data, self._first_data = self._first_data, b""
            return data
        deadline = math.inf if self._idle is None else self._clock() + self._idle
        while not self._exchange.finished:
            if data := await self._receive(deadline):
                return data
        return b""

    async def _receive_head(self) -> None:
        while self._exchange.response is None:
            self._first_data = await self._receive(self._deadline_of_head())

    def _deadline_of_head(self) -> float:
        # While a large body is being sent, the server is silent.
        if self._idle is None or (self._exchange.has_body and not self._exchange.response_started):
            return math.inf
        if self._head_deadline is None:
            self._head_deadline = self._clock() + self._idle
        return self._head_deadline

    async def _receive(self, idle_deadline: float) -> bytes:
        """Wait for bytes; return those of the body."""
        deadline = min(self._deadline, idle_deadline)
        received = await self.stream.receive(deadline)
        if received:
            try:
                return self._exchange.feed(received)
            except RemoteProtocolError as error:
                problem = str(error)
            # A new error, because the frames of the first error have variables with the received bytes.
            del received
            raise RemoteProtocolError(problem)
        if received is not None:
            self._exchange.close()
            return b""
        if deadline < self._deadline:
            silence = "the server was silent" if self._exchange.response else "no complete head arrived"
            raise DeadlineExceeded(f"{silence} for {self._idle:g} s")
        raise DeadlineExceeded("the response was not complete within the timeout of the request")


class H11Response(Generic[StreamT]):
    """A response whose body is still arriving: iterate over its bytes, once, inside its context."""

    def __init__(
        self, request: RawRequest, response: ResponseHead, exchange: ActiveExchange[StreamT]
    ) -> None:
        self.status = response.status
        self.headers: Headers = response.headers
        self._request = request
        self._exchange: ActiveExchange[StreamT] | None = exchange

    def __repr__(self) -> str:
        return f"<{request_name(self._request)}: {self.status}>"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._exchange is None:
            raise LocalProtocolError(
                f"{request_name(self._request)}: the body must be read inside the context of its response"
            )
        try:
            data = await self._exchange.read()
        except (TransportError, RemoteProtocolError) as error:
            raise _add_request_name(error, self._request) from error.__cause__
        if not data:
            raise StopAsyncIteration
        return data

    def detach(self) -> ActiveExchange[StreamT] | None:
        """Return the exchange, and refuse further reads: the connection may carry another response now."""
        exchange, self._exchange = self._exchange, None
        return exchange


class RequestDriver(Generic[StreamT]):
    """Sends requests to a server over pooled connections, and releases each connection."""

    def __init__(
        self, connection: Connection, pool: ConnectionPool[StreamT], *, clock: Callable[[], float]
    ) -> None:
        self._connection = connection
        self._pool = pool
        self._clock = clock

    async def send(
        self, request: RawRequest, deadline: float = math.inf, idle: float | None = None
    ) -> H11Response[StreamT]:
        """Send a request and wait for the head of its response, which must be passed to `close_response`."""
        if isinstance(request, UpgradeRequest):
            raise LocalProtocolError(
                f"{request_name(request)}: this request opens a WebSocket; call `upgrade`, not `send`"
            )
        try:
            exchange, response = await self._send(prepare_request(request, self._connection), deadline, idle)
        except (TransportError, RemoteProtocolError, LocalProtocolError) as error:
            raise _add_request_name(error, request) from error.__cause__
        return H11Response(request, response, exchange)

    def close_response(self, response: H11Response[StreamT]) -> None:
        """Return the connection of a response to the pool, or close it if the response was not read."""
        exchange = response.detach()
        if exchange is None:
            return
        if exchange.reusable:
            self._pool.release(exchange.stream)
        else:
            self._pool.discard(exchange.stream)

    async def upgrade(
        self, request: UpgradeRequest, nonce: bytes, deadline: float = math.inf, idle: float | None = None
    ) -> WebSocketStream[StreamT]:
        """Open a WebSocket, which must be passed to `close_websocket`. `nonce` is 16 random bytes."""
        handshake = WebSocketHandshake(request, nonce)
        handshake_request = prepare_request(handshake.request, self._connection)
        exchange = Exchange(handshake_request)
        # A stale connection would require a second attempt, and a command must not be started twice.
        stream = await self._pool.acquire(fresh=True)
        active = ActiveExchange(
            stream, exchange, handshake_request, clock=self._clock, deadline=deadline, idle=None
        )
        try:
            response = await active.send_request()
            if response.status != 101:
                raise request.refused(response.status, response.headers, await _read_refusal(active))
            protocol = handshake.accept(response)
            # Imported here because it imports wsproto, which most programs do not need.
            from ._websocket_framing import WebSocketFraming

            return WebSocketStream(
                stream,
                WebSocketFraming(active.trailing_data),
                protocol,
                request_name(request),
                clock=self._clock,
                idle=idle,
            )
        except (TransportError, RemoteProtocolError, LocalProtocolError) as error:
            self._pool.discard(stream)
            raise _add_request_name(error, request) from error.__cause__
        except BaseException:
            self._pool.discard(stream)
            raise

    def close_websocket(self, websocket: WebSocketStream[StreamT]) -> None:
        """Close the connection of a WebSocket."""
        self._pool.discard(websocket.stream)

    async def _send(
        self, request: RawRequest, deadline: float, idle: float | None
    ) -> tuple[ActiveExchange[StreamT], ResponseHead]:
        """Send a request and read the head of its response; send it again if the connection was stale."""
        for fresh in (False, True):
            exchange = Exchange(request)  # may raise, so do this before acquiring a connection
            stream = await self._pool.acquire(fresh=fresh)
            active = ActiveExchange(
                stream, exchange, request, clock=self._clock, deadline=deadline, idle=idle
            )
            try:
                return active, await active.send_request()
            except BaseException as error:
                self._pool.discard(stream)
                if not active.may_replay_after(error):
                    raise
        raise AssertionError("a fresh connection is never stale")


async def _read_refusal(exchange: ActiveExchange[StreamT]) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while size < _MAX_REFUSAL and (data := await exchange.read()):
        chunks.append(data)
        size += len(data)
    return b"".join(chunks)


def _add_request_name(error: KubeprotoError, request: RawRequest) -> KubeprotoError:
    """Return the error with the name of its request, unless its message begins with that."""
    name, text = request_name(request), str(error)
    return error if text.startswith(name) else type(error)(f"{name}: {text}")
