"""`WebSocketStream`: the messages of a WebSocket over a connection, on any event loop.

Bytes are read only while a receiver waits for a message, so a slow receiver slows the server down. Pings are
answered then, too. A silent server is pinged, which prevents proxies in between from closing the connection,
and shows whether the server is alive.
"""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kubeproto import (
    DeadlineExceeded,
    KubeprotoError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)

from ._byte_streams import ByteStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._websocket_framing import CloseReason, WebSocketFraming

StreamT = TypeVar("StreamT", bound=ByteStream)

# Seconds of silence after which the server is pinged. client-go pings every 5 s, kube-rs every 60 s; load
# balancers close a silent connection after 60 s at the earliest.
_PING_INTERVAL: Final = 30.0

# Seconds to wait for the server's close frame after ours.
_CLOSE_TIMEOUT: Final = 1.0


class WebSocketStream(Generic[StreamT]):
    """A WebSocket. A failure is a `TransportError`, whose message begins with `name`."""

    def __init__(
        self,
        stream: StreamT,
        framing: WebSocketFraming,
        protocol: str,
        name: str,
        *,
        clock: Callable[[], float],
        idle: float | None,
    ) -> None:
        self.protocol = protocol
        self.stream = stream
        self._framing = framing
        self._name = name
        self._clock = clock
        self._idle = math.inf if idle is None else idle
        self._messages = deque(framing.feed(b""))
        self._receiving = False

    def __repr__(self) -> str:
        return f"<{self._name}: {self.protocol}>"

    async def receive(self) -> bytes | None:
        """Return the next message; None when the server has closed the connection normally."""
        if self._receiving:
            raise LocalProtocolError(f"{self._name}: only one task at a time can receive")
        self._receiving = True
        try:
            while not self._messages:
                if self._framing.close_reason is not None:
                    _require_normal(self._framing.close_reason)
                    return None
                await self._receive()
        except (TransportError, RemoteProtocolError) as error:
            self.stream.close()
            raise type(error)(f"{self._name}: {error}") from error.__cause__
        finally:
            self._receiving = False
        return self._messages.popleft()

    async def send(self, message: bytes) -> None:
        """Send a message as soon as the server reads it."""
        data = self._framing.send(message)
        try:
            await self._send(data)
        except TransportError as error:
            raise TransportError(f"{self._name}: {error}") from error.__cause__

    async def close(self) -> None:
        """Send a close frame, and wait up to a second for the server's. Errors are ignored."""
        with suppress(KubeprotoError):
            deadline = self._clock() + _CLOSE_TIMEOUT
            await self._send(self._framing.outgoing + self._framing.close())
            while self._framing.close_reason is None:
                received = await self.stream.receive(deadline)
                if not received:
                    break
                self._framing.feed(received)

    async def _receive(self) -> None:
        """Wait for bytes, and ping the server while none arrive."""
        deadline = self._clock() + self._idle
        # Half of the limit, so that a server that is alive can always respond to a ping in time.
        interval = min(_PING_INTERVAL, self._idle / 2)
        await self._reply()
        while (received := await self.stream.receive(min(deadline, self._clock() + interval))) is None:
            if self._clock() >= deadline:
                raise DeadlineExceeded(f"the server was silent for {self._idle:g} s")
            await self._send(self._framing.ping())
        if not received:
            raise TransportError("the server closed the connection without a close frame")
        try:
            self._messages += self._framing.feed(received)
        finally:
            await self._reply()

    async def _reply(self) -> None:
        if reply := self._framing.outgoing:
            # A server that has closed reads no reply; the next read will report the end.
            with suppress(TransportError):
                await self._send(reply)

    async def _send(self, data: bytes) -> None:
        try:
            await self.stream.send(data)
        except BaseException:
            # Part of the frame may have been sent, and another frame would be read as the rest of it.
            self.stream.close()
            raise


def _require_normal(close_reason: CloseReason) -> None:
    if not close_reason.normal:
        # A reason with control characters could forge lines of a log.
        reason = close_reason.reason if close_reason.reason.isprintable() else ""
        text = f" ({reason})" if reason else ""
        raise TransportError(f"the server closed the WebSocket with code {close_reason.code}{text}")
