"""`WebSocketStream`: messages over a connection. It awaits that, and knows no event loop.

Bytes are read when a message is requested and none is complete, so a slow reader slows the server down. Pings
are answered then, too. A silent server is pinged, which keeps proxies in between from dropping the
connection, and shows whether the server is alive.
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

    from ._framing import CloseReason, Framing

L = TypeVar("L", bound=ByteStream)

# Seconds of silence after which the server is pinged. client-go pings every 5, kube-rs every 60; balancers
# forget a silent connection after 60 at the earliest.
PING: Final = 30.0

# Seconds to wait for the server's close frame after ours.
CLOSE: Final = 1.0


class WebSocketStream(Generic[L]):
    """One WebSocket. Failures are a `TransportError`, whose message begins with `name`."""

    def __init__(
        self,
        stream: L,
        framing: Framing,
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
        """The next message; None when the server has closed the connection normally."""
        if self._receiving:
            raise LocalProtocolError(f"{self._name}: one task at a time can receive")
        self._receiving = True
        try:
            while not self._messages:
                if self._framing.farewell is not None:
                    _check(self._framing.farewell)
                    return None
                await self._receive()
        except (TransportError, RemoteProtocolError) as error:
            self.stream.close()
            raise type(error)(f"{self._name}: {error}") from error.__cause__
        finally:
            self._receiving = False
        return self._messages.popleft()

    async def send(self, message: bytes) -> None:
        """Send a message, as soon as the server takes it."""
        data = self._framing.send(message)
        try:
            await self._send(data)
        except TransportError as error:
            raise TransportError(f"{self._name}: {error}") from error.__cause__

    async def close(self) -> None:
        """Send a close frame, and wait a moment for the server's. Errors are ignored."""
        with suppress(KubeprotoError):
            by = self._clock() + CLOSE
            await self._send(self._framing.outgoing + self._framing.close())
            while self._framing.farewell is None:
                heard = await self.stream.receive(by)
                if not heard:
                    break
                self._framing.feed(heard)

    async def _receive(self) -> None:
        """Wait for bytes, and ping the server if none arrive."""
        silent_until = self._clock() + self._idle
        pause = min(PING, self._idle / 2)
        await self._reply()
        while (heard := await self.stream.receive(min(silent_until, self._clock() + pause))) is None:
            if self._clock() >= silent_until:
                raise DeadlineExceeded(f"the server was silent for {self._idle:g} s")
            await self._send(self._framing.ping())
        if not heard:
            raise TransportError("the server hung up in the middle of the conversation")
        try:
            self._messages += self._framing.feed(heard)
        finally:
            await self._reply()

    async def _reply(self) -> None:
        if reply := self._framing.outgoing:
            # A server that has closed needs no response; the next read will notice the end.
            with suppress(TransportError):
                await self._send(reply)

    async def _send(self, data: bytes) -> None:
        try:
            await self.stream.send(data)
        except BaseException:
            # A part may have been sent, and only the rest may follow it.
            self.stream.close()
            raise


def _check(farewell: CloseReason) -> None:
    if not farewell.good:
        said = f" ({farewell.reason})" if farewell.reason and farewell.reason.isprintable() else ""
        raise TransportError(f"the server closed with code {farewell.code}{said}")
