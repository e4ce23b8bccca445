"""`StreamProtocol`: the bytes that asyncio passes to a protocol, buffered until they are read."""

from __future__ import annotations

import asyncio
import errno
import math
import os
import select
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from kubeproto_sockets import keep_alive_options, set_options

if TYPE_CHECKING:
    from collections.abc import Callable

# Beyond this many buffered bytes reading pauses, so that a slow reader slows its server down. One read of
# asyncio's returns at most 256 KiB.
_MAX_BUFFERED: Final = 256 * 1024


class StreamProtocol(asyncio.Protocol):
    """Bytes in and out of a socket. One task at a time may wait in `receive`."""

    def __init__(self, notify_lost: Callable[[StreamProtocol], None]) -> None:
        self._notify_lost = notify_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received: list[bytes] = []
        self._size = 0
        self._paused = False
        self._closed_by_peer = False
        self._failure: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._write_paused = False
        self._lost = False
        self._writers: list[asyncio.Future[None]] = []

    @property
    def connected(self) -> bool:
        """True once asyncio has the socket, and will report its loss."""
        return self._transport is not None or self._lost

    @property
    def nothing_to_read(self) -> bool:
        """True if no data and no EOF are pending."""
        return not (self._received or self._closed_by_peer)

    @property
    def readable(self) -> bool:
        """True if the peer has sent something or closed, even if asyncio has not noticed yet."""
        return not self.nothing_to_read or self._transport is None or _is_readable(self._transport)

    @property
    def drained(self) -> bool:
        """True if the kernel has taken all sent bytes."""
        return self._transport is not None and not self._transport.get_write_buffer_size()

    async def receive(self, deadline: float) -> bytes | None:
        """Return received bytes; empty if the peer has closed, None if nothing arrived in time."""
        if self.nothing_to_read and not await self._wait(deadline):
            return None
        received, self._received, self._size = self._received, [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        if received:
            return received[0] if len(received) == 1 else b"".join(received)
        if self._failure is not None:
            raise self._failure
        return b""

    def send(self, data: bytes) -> None:
        """Send `data`, now or as soon as the peer reads it."""
        if data and self._transport is not None and not self._closed_by_peer:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the peer has read enough of the sent bytes."""
        while self._write_paused and not self._lost:
            writer = self._loop.create_future()
            self._writers.append(writer)
            await writer
        if self._lost:
            raise self._failure or ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))

    def close(self) -> None:
        """Close the socket immediately; unsent bytes are discarded."""
        if self._transport is not None:
            # asyncio closes it in the next pass of the loop; the server is notified now.
            with suppress(OSError):
                self._transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
            self._transport.abort()

    async def _wait(self, deadline: float) -> bool:
        reader = self._reader = self._loop.create_future()
        timer = None if deadline == math.inf else self._loop.call_at(deadline, _wake, reader)
        try:
            await reader
        finally:
            self._reader = None
            if timer is not None:
                timer.cancel()
        return not self.nothing_to_read

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        set_options(transport.get_extra_info("socket"), keep_alive_options())

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self._size += len(data)
        if self._size > _MAX_BUFFERED and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        _wake(self._reader)

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        self._wake_writers()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)
        self._transport = None
        self._lost = True
        self._wake_writers()
        self._notify_lost(self)

    def _end(self, error: Exception | None) -> None:
        if not self._closed_by_peer:
            self._closed_by_peer, self._failure = True, error
        _wake(self._reader)

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            _wake(writer)


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _is_readable(transport: asyncio.Transport) -> bool:
    descriptor: int = transport.get_extra_info("socket").fileno()
    if descriptor < 0:
        return True
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))
    # Windows has no poll; its select, unlike others, accepts any descriptor.
    return bool(select.select([descriptor], [], [], 0)[0])
