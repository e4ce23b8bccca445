"""`SocketChannel`: the bytes of a connection on anyio. `Watchdog`: the time limits of all connections.

A deadline around each receive and each send costs as much as the response to a small request. So a channel
only stores its current limit, and one task checks all channels, several times within the shortest limit.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio
from msgspec import Struct

from kubeproto import TransportError

if TYPE_CHECKING:
    from anyio.abc import ByteStream, SocketStream

_log: Final = logging.getLogger("kubeproto.serve")

# A client that receives this number of bytes within `stalled` seconds is slow; otherwise it is stuck.
_SEND_SIZE: Final = 64 * 1024
# The bytes that a client can send ahead during a watch before the server stops reading.
_MAX_READ_AHEAD: Final = 64 * 1024
_CHECKS_PER_LIMIT: Final = 8
_MAX_CHECK_INTERVAL: Final = 1.0


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of a client, so that it cannot exhaust the server. Times are in seconds, sizes in bytes.

    `idle` is the time that a connection may stay without a request. `stalled` is the time in which a client
    must receive some of the bytes that are sent to it; a real server also ends the watch of a slow client.
    `request` is the time from the first byte of a request to its last.
    """

    connections: int = 10_000
    head: int = 64 * 1024  # Go's server grants 1 MiB; kubectl's longest request is a few KiB
    body: int = 4 * 1024 * 1024  # above Kubernetes' own 3 MiB, which is refused in Kubernetes' own words
    idle: float = 180.0
    stalled: float = 30.0
    request: float = 60.0


def pause_reading(stream: SocketStream) -> None:
    """Stop reading from a new connection until somebody receives.

    On asyncio, anyio pauses a socket after a receive that had to wait. If the client has sent bytes before
    the first receive, it never pauses: a client that pipelines requests and reads no responses made the
    server store 2 GB in six seconds.
    """
    if (transport := getattr(stream, "_transport", None)) is not None:
        transport.pause_reading()


class SocketChannel:
    """A connection. `receive` returns nothing once the client has closed.

    `waiting` is True while no request of the client is being handled. `limit` is the limit of the current
    wait, None for no limit; `steps` counts the completed waits.
    """

    def __init__(self, stream: ByteStream, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self.waiting = True
        self.limit: float | None = None
        self.steps = 0
        # For the watchdog: the steps at its last check, and the time since which they have not changed.
        self.last_check: tuple[int, float] = (-1, 0.0)
        self.scope = anyio.CancelScope()  # cancels everything that serves the connection
        self._deadline: float | None = None  # of the request that is being received
        self._ahead = b""  # read while a response was being sent

    async def receive(self) -> bytes:
        """Wait for bytes."""
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        now = anyio.current_time()
        if self._deadline is not None and now >= self._deadline:
            raise TransportError(f"the client has not sent its request within {self._limits.request:g} s")
        self.waiting = True
        self.limit = self._limits.idle if self._deadline is None else self._deadline - now
        data = await self._receive()
        self.waiting, self.limit = not data, None
        if self._deadline is None:
            self._deadline = anyio.current_time() + self._limits.request
        self.steps += 1
        return data

    async def send(self, data: bytes) -> None:
        """Send all bytes; `TransportError` if the client has closed."""
        self.limit, self._deadline = self._limits.stalled, None
        try:
            if len(data) <= _SEND_SIZE:
                await self._stream.send(data)
            else:
                view = memoryview(data)
                for start in range(0, len(view), _SEND_SIZE):
                    await self._stream.send(bytes(view[start : start + _SEND_SIZE]))
                    self.steps += 1
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # EndOfStream: a TLS stream raises it if the client has closed without close_notify.
            raise TransportError("the client has closed the connection") from None
        self.limit = None
        self.steps += 1

    async def receive_more(self) -> bytes:
        """Wait without a limit for bytes of the protocol after an upgrade."""
        return await self._receive()

    async def hung_up(self) -> None:
        """Return when the client has closed; bytes that it sends ahead are stored for the next request."""
        while len(self._ahead) < _MAX_READ_AHEAD:
            data = await self._receive()
            if not data:
                return
            self._ahead += data
        await anyio.sleep_forever()

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""


class Watchdog:
    """Ends the connections whose clients exceed the time limits."""

    def __init__(self, limits: Limits) -> None:
        self.channels: set[SocketChannel] = set()
        self._pause = min(
            *(limit / _CHECKS_PER_LIMIT for limit in (limits.idle, limits.stalled, limits.request)),
            _MAX_CHECK_INTERVAL,
        )

    async def run(self) -> None:
        """Check all channels periodically, until cancelled."""
        while True:
            await anyio.sleep(self._pause)
            now = anyio.current_time()
            for channel in self.channels:
                self._check(channel, now)

    def _check(self, channel: SocketChannel, now: float) -> None:
        steps, since = channel.last_check
        if channel.limit is None or channel.steps != steps:
            channel.last_check = channel.steps, now
        elif now - since >= channel.limit:
            problem = "has sent no request" if channel.waiting else "has taken no bytes"
            _log.debug("a connection was ended: its client %s for %g s", problem, channel.limit)
            channel.scope.cancel()
