"""`Socket`: the bytes that asyncio passes to a protocol, kept until they are read."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import select
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

# Bytes that wait for their reader. Beyond this, reading pauses until they are taken, so that a slow reader
# slows its server down. One read of asyncio's brings 256 KiB at most.
_ENOUGH: Final = 256 * 1024

# Seconds, and how often. A peer that vanished is noticed after 30 + 4 x 15 s; client-go first asks after 30.
# No probes are sent while sent data is unacknowledged: the last option bounds that, in milliseconds.
_KEEP_ALIVE: Final = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPALIVE": 30,  # what macOS calls it
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 4,
    "TCP_USER_TIMEOUT": 90_000,
}


class Socket(asyncio.Protocol):
    """Bytes in and out of a socket. One task at a time may wait in `receive`."""

    def __init__(self, gone: Callable[[Socket], None]) -> None:
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._heard: list[bytes] = []
        self._size = 0
        self._paused = False
        self._ended = False
        self._broken: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._full = False
        self._lost = False
        self._writers: list[asyncio.Future[None]] = []

    @property
    def connected(self) -> bool:
        """True once asyncio has it, and will report its loss."""
        return self._transport is not None or self._lost

    @property
    def silent(self) -> bool:
        """True if nothing from the other side waits to be received, neither bytes nor an end."""
        return not (self._heard or self._ended)

    @property
    def rings(self) -> bool:
        """True if the other side has sent something or closed, even if asyncio has not noticed yet."""
        return not self.silent or self._transport is None or _readable(self._transport)

    @property
    def drained(self) -> bool:
        """True if the kernel has taken all that was sent."""
        return self._transport is not None and not self._transport.get_write_buffer_size()

    async def receive(self, by: float) -> bytes | None:
        """Return received bytes; empty when the peer has closed, None if nothing arrived by that time."""
        if self.silent and not await self._wait(by):
            return None
        heard, self._heard, self._size = self._heard, [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        if heard:
            return heard[0] if len(heard) == 1 else b"".join(heard)
        if self._broken is not None:
            raise self._broken
        return b""

    def send(self, data: bytes) -> None:
        """Send this, now or as soon as the other side takes it."""
        if data and self._transport is not None and not self._ended:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the other side has taken enough of what was sent."""
        while self._full and not self._lost:
            waiting = self._loop.create_future()
            self._writers.append(waiting)
            await waiting
        if self._lost:
            raise self._broken or ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))

    def close(self) -> None:
        """Close the socket at once; what was not sent never is."""
        if self._transport is not None:
            # asyncio closes it in the next pass of the loop; the server need not wait for that.
            with suppress(OSError):
                self._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            self._transport.abort()

    async def _wait(self, by: float) -> bool:
        reader = self._reader = self._loop.create_future()
        timer = None if by == math.inf else self._loop.call_at(by, _wake, reader)
        try:
            await reader
        finally:
            self._reader = None
            if timer is not None:
                timer.cancel()
        return not self.silent

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        _keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        self._heard.append(data)
        self._size += len(data)
        if self._size > _ENOUGH and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        _wake(self._reader)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._wake_writers()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)
        self._transport = None
        self._lost = True
        self._wake_writers()
        self._gone(self)

    def _end(self, error: Exception | None) -> None:
        if not self._ended:
            self._ended, self._broken = True, error
        _wake(self._reader)

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            _wake(writer)


def _wake(reader: asyncio.Future[None] | None) -> None:
    if reader is not None and not reader.done():
        reader.set_result(None)


def _readable(transport: asyncio.Transport) -> bool:
    number: int = transport.get_extra_info("socket").fileno()
    if number < 0:
        return True
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(number, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([number], [], [], 0)[0])  # Windows has nothing else, and takes any number here


def _keep_alive(connected: socket.socket) -> None:
    # No system has all options, and kernels in sandboxes refuse some; a connection works without them.
    with suppress(OSError):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            with suppress(OSError):
                connected.setsockopt(socket.IPPROTO_TCP, option, value)
