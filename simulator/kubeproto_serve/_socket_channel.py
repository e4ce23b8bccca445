"""`SocketChannel`: the bytes of one connection on anyio; `Watchdog`: the limits on time, for all connections.

A deadline around each receive and each send costs as much as the response to a small request. So a channel
only notes what it waits for, and one task checks all of them, several times within the shortest limit.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio
from msgspec import Struct

from kubeproto import TransportError

if TYPE_CHECKING:
    from anyio.abc import ByteStream

_log: Final = logging.getLogger("kubeproto.serve")

# A client that takes this much within `stalled` seconds is slow; one that does not is stuck.
_PIECE: Final = 64 * 1024
# What a client may send ahead while it watches, before reading from it stops.
_AHEAD: Final = 64 * 1024
_LOOKS: Final = 8  # within the shortest limit
_SELDOM: Final = 1.0  # seconds between two looks at the most


class Limits(Struct, frozen=True, kw_only=True):
    """What a client may take. Times are in seconds, sizes in bytes.

    `idle` is how long a connection may stay without a request. `stalled` is how long a client may take none
    of the bytes that are sent to it: a real server ends the watch of a client that does not keep up, too.
    """

    connections: int = 10_000
    head: int = 64 * 1024  # Go's server grants 1 MiB; kubectl's longest request is a few KiB
    body: int = 4 * 1024 * 1024  # above Kubernetes' own 3 MiB, which is refused in Kubernetes' own words
    idle: float = 180.0
    stalled: float = 30.0


class SocketChannel:
    """One connection. `receive` returns nothing once the client has closed.

    `waiting` is True while it is the client's turn: no request of it is being answered. `limit` is how long
    the present wait may take, None for forever; `steps` counts the waits that succeeded.
    """

    def __init__(self, stream: ByteStream, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self.waiting = True
        self.limit: float | None = None
        self.steps = 0
        # For the watchdog: the steps at its last check, and since when there are this many.
        self.seen: tuple[int, float] = (-1, 0.0)
        self.scope = anyio.CancelScope()  # of everything that serves the connection
        self._ahead = b""  # read while a response was being sent

    async def receive(self) -> bytes:
        """Wait for bytes."""
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        self.waiting, self.limit = True, self._limits.idle
        data = await self._receive()
        self.waiting, self.limit = not data, None
        self.steps += 1
        return data

    async def send(self, data: bytes) -> None:
        """Send all of it; `TransportError` if the client has gone."""
        self.limit = self._limits.stalled
        try:
            if len(data) <= _PIECE:
                await self._stream.send(data)
            else:
                view = memoryview(data)
                for start in range(0, len(view), _PIECE):
                    await self._stream.send(bytes(view[start : start + _PIECE]))
                    self.steps += 1
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # EndOfStream: that is what a TLS stream raises for a client that has closed without its farewell.
            raise TransportError("the client has closed the connection") from None
        self.limit = None
        self.steps += 1

    async def receive_more(self) -> bytes:
        """Wait for bytes of the protocol that the connection has switched to, for as long as it takes."""
        return await self._receive()

    async def hung_up(self) -> None:
        """Return when the client has closed; what it sends ahead is kept for the next request."""
        while len(self._ahead) < _AHEAD:
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
    """Ends the connections whose client keeps the server waiting for longer than the limits allow."""

    def __init__(self, limits: Limits) -> None:
        self.channels: set[SocketChannel] = set()
        self._pause = min(limits.idle / _LOOKS, limits.stalled / _LOOKS, _SELDOM)

    async def run(self) -> None:
        """Check all channels periodically, until cancelled."""
        while True:
            await anyio.sleep(self._pause)
            now = anyio.current_time()
            for channel in self.channels:
                self._look(channel, now)

    def _look(self, channel: SocketChannel, now: float) -> None:
        steps, since = channel.seen
        if channel.limit is None or channel.steps != steps:
            channel.seen = channel.steps, now
        elif now - since >= channel.limit:
            what = "has sent no request" if channel.waiting else "has taken no bytes"
            _log.debug("a connection was ended: its client %s for %g s", what, channel.limit)
            channel.scope.cancel()
