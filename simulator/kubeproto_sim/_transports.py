"""Transports to a simulated cluster, which neither do I/O nor wait.

Where a real transport would wait for bytes, time jumps to the next moment at which something happens: a
bookmark, a timeout, the end of a grace period. So an idle watch ends immediately with its timeout, and a
silence of more than `idle` seconds immediately raises `DeadlineExceeded`. A driver that has its own clock
uses `Cluster.respond` instead, and reads from the streams itself.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Protocol

from kubeproto import DeadlineExceeded, TransportError
from kubeproto.wire import Headers, RawRequest, UpgradeRequest

from ._streams import Conversation, Stream
from .serving._server_responses import ServerResponse

Responder = Callable[[RawRequest], ServerResponse]


class VirtualServer(Protocol):
    """The parts of a cluster that transports use: its responses and its clock."""

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        ...

    @property
    def next_due(self) -> float | None:
        """The next time at which something happens without a request; None if there is none."""
        ...

    def respond(self, request: RawRequest) -> ServerResponse:
        """Respond to a request."""
        ...

    def advance(self, seconds: float) -> None:
        """Advance the clock, and run everything that becomes due."""
        ...

    def advance_to(self, time: float) -> None:
        """Advance the clock to `time`."""
        ...

    def settle(self) -> None:
        """Run the controllers until they have nothing more to do."""
        ...


class SimResponse:
    """A response whose body is still arriving. Iterate over its bytes once, with `for` or `async for`."""

    def __init__(
        self, cluster: VirtualServer, response: ServerResponse, deadline: float | None, idle: float | None
    ) -> None:
        self.status = response.status
        self.headers: Headers = response.headers
        self.body = response.body
        self._cluster = cluster
        self._deadline = deadline
        self._idle = idle

    def __iter__(self) -> Iterator[bytes]:
        while True:
            chunk = self._next()
            if chunk is None:
                return
            yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def _next(self) -> bytes | None:
        """Return the next bytes, or None at the end; time jumps until bytes arrive."""
        body = self.body
        if isinstance(body, bytes):
            self.body = b""
            return body or None
        silent_since = self._cluster.now
        while True:
            if data := body.take():
                return data
            if body.ended:
                return None
            self._cluster.settle()  # controllers finish their work before time passes
            if data := body.take():
                return data
            if not body.ended:
                self._jump(silent_since)

    def _jump(self, silent_since: float) -> None:
        cluster = self._cluster
        ends = [time for time in (self._deadline, self._silence(silent_since)) if time is not None]
        end, next_due = min(ends, default=None), cluster.next_due
        if next_due is None or (end is not None and end < next_due):
            if end is None:
                raise DeadlineExceeded(
                    "nothing will ever arrive on this stream: pass `timeout` or `idle` to limit the wait"
                )
            cluster.advance_to(end)
            raise DeadlineExceeded(f"no bytes arrived within {end - silent_since:g} s")
        cluster.advance_to(next_due)

    def _silence(self, since: float) -> float | None:
        return None if self._idle is None else since + self._idle


class _Exchange:
    """A request and its response. The exit of the context closes an open stream."""

    def __init__(
        self,
        cluster: VirtualServer,
        respond: Responder,
        request: RawRequest,
        timeout: float | None,
        idle: float | None,
    ) -> None:
        self._cluster = cluster
        self._respond = respond
        self._request = request
        self._timeout = timeout
        self._idle = idle
        self._body: bytes | Stream = b""

    def __enter__(self) -> SimResponse:
        cluster, start = self._cluster, self._cluster.now
        deadline = None if self._timeout is None else start + self._timeout
        if self._request.check is not None:
            self._request.check()
        response = self._respond(self._request)
        self._body = response.body
        limits = [limit for limit in (self._timeout, self._idle) if limit is not None]
        if response.delay > min(limits, default=response.delay):
            cluster.advance(min(limits))
            raise DeadlineExceeded(f"no response within {min(limits):g} s")
        if response.delay:
            cluster.advance(response.delay)
        return SimResponse(cluster, response, deadline, self._idle)

    def __exit__(self, *_: object) -> None:
        if not isinstance(self._body, bytes):
            self._body.close()

    async def __aenter__(self) -> SimResponse:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


class SimWebSocket:
    """Messages to and from a simulated pod. Time jumps until a message arrives."""

    def __init__(self, cluster: VirtualServer, conversation: Conversation, idle: float | None) -> None:
        self.protocol = conversation.protocol
        self._cluster = cluster
        self._conversation = conversation
        self._idle = idle

    async def receive(self) -> bytes | None:
        """Return the next message; None when the server has closed the connection normally."""
        cluster, conversation = self._cluster, self._conversation
        silent_since = cluster.now
        while not (message := conversation.take()):
            if conversation.ended:
                return None
            cluster.settle()
            next_due = cluster.next_due
            end = None if self._idle is None else silent_since + self._idle
            if next_due is None or (end is not None and end < next_due):
                if end is None:
                    raise DeadlineExceeded(
                        "nothing will ever arrive on this connection: pass `idle` to limit the wait"
                    )
                cluster.advance_to(end)
                raise DeadlineExceeded(f"no message arrived within {self._idle:g} s")
            cluster.advance_to(next_due)
        return message

    async def send(self, message: bytes) -> None:
        """Send a message."""
        self._conversation.feed(message)


def begin_conversation(request: UpgradeRequest, respond: Responder) -> Conversation:
    """Send a request with a handshake. Return the conversation, or raise the error of a refusal."""
    upgrade_request = request.with_headers(
        ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Protocol", ", ".join(request.protocols)),
    )  # fmt: skip
    if upgrade_request.check is not None:
        upgrade_request.check()
    response = respond(upgrade_request)
    body = response.body
    if isinstance(body, bytes):
        raise request.refused(response.status, response.headers, body)
    if not isinstance(body, Conversation):
        body.close()  # a fault has replaced the conversation
        raise TransportError(f"{request.label}: the connection broke while it was upgraded")
    request.accepted(response.headers)
    return body


class SimTransport:
    """Sends requests to a simulated cluster, on any event loop or none."""

    def __init__(self, cluster: VirtualServer, respond: Responder | None = None) -> None:
        self.cluster = cluster
        self._respond = respond or cluster.respond

    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> _Exchange:
        """Send a request and wait for the head of its response."""
        return _Exchange(self.cluster, self._respond, request, timeout, idle)

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[SimWebSocket]:
        """Send a request that becomes a WebSocket, which is closed at the end of the context."""
        conversation = begin_conversation(request, self._respond)
        try:
            yield SimWebSocket(self.cluster, conversation, idle)
        finally:
            conversation.close()


class BlockingSimTransport(SimTransport):
    """The same transport with the type of a blocking transport."""
