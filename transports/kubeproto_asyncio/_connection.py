"""`AsyncioByteStream`: one connection on asyncio, and the one place where its errors become ours."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubeproto import DeadlineExceeded, TransportError
from kubeproto_h11 import Sessions

from ._dialled import dialled
from ._socket import Socket
from ._tls import session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable


class AsyncioByteStream:
    """A connection that sends and receives. Whatever breaks on it is a `TransportError`."""

    def __init__(self, connected: Socket) -> None:
        self.used = False
        self._socket = connected
        self._sessions = Sessions()
        self._closed = False

    async def encrypt(self, context: ssl.SSLContext, name: str) -> None:
        """Do the TLS handshake, perhaps inside another TLS; everything is encrypted afterwards."""
        try:
            made = session(context, name)
        except ValueError as error:
            raise TransportError(str(error)) from error
        try:
            agreed = made.shake_hands()
            while not agreed:
                self._send(made.outgoing)
                received = await self.receive(math.inf)
                if not received:
                    raise TransportError("the other side hung up in the middle of the TLS handshake")
                agreed = made.shake_hands(received)
        except OSError as error:
            raise TransportError(_reason(error)) from error
        finally:
            self._send(made.outgoing)  # the alert, if it failed
        self._sessions.add(made)

    async def receive(self, by: float) -> bytes | None:
        """Return received bytes; empty when the server has closed, None if nothing arrived by that time."""
        if self._closed:
            raise TransportError("the connection was closed on this side")
        try:
            received = await self._socket.receive(by)
            while received and self._sessions:
                said = self._sessions.decrypt(received)
                self._socket.send(self._sessions.outgoing)
                if said or self._sessions.ended:
                    return said
                received = await self._socket.receive(by)
        except OSError as error:
            raise TransportError(f"the connection broke: {_reason(error)}") from error
        return received

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        """Send all of it, and listen meanwhile; True if all had been sent when the listener was done."""
        self._send(data)
        await listen()
        return self._socket.drained

    async def send(self, data: bytes) -> None:
        """Send all of it, as soon as the server takes it. If cancelled, the connection is unusable."""
        if self._closed:
            raise TransportError("the connection was closed on this side")
        self._send(data)
        try:
            await self._socket.drain()
        except OSError as error:
            raise TransportError(f"the connection broke: {_reason(error)}") from error

    @property
    def stale(self) -> bool:
        """True if an idle connection must not be used: its server has closed it or sent something."""
        return self._closed or self._socket.rings

    def close(self) -> None:
        """Close the socket at once; HTTP does not need TLS's closing alert to detect a cut."""
        self._closed = True
        self._socket.close()

    def _send(self, data: bytes) -> None:
        self._socket.send(self._sessions.encrypt(data))


class AsyncioByteStreams:
    """Opens connections, and knows which of their sockets are open."""

    def __init__(self) -> None:
        self._open: set[Socket] = set()
        self._none = asyncio.Event()

    async def open(self, host: str, port: int) -> AsyncioByteStream:
        """Dial the addresses of the host, the next one when the last is slow."""
        loop = asyncio.get_running_loop()
        try:
            dialled_to = await dialled(host, port)
            made = Socket(self._gone)
            self._open.add(made)
            try:
                await loop.create_connection(lambda: made, sock=dialled_to)
            except BaseException:
                if not made.connected:
                    # asyncio will never report that it is lost, and `close` would wait for that.
                    dialled_to.close()
                    self._gone(made)
                raise
        except OSError as error:
            raise TransportError(_reason(error)) from error
        return AsyncioByteStream(made)

    async def close(self) -> None:
        """Close all sockets, and wait: asyncio closes them a moment later."""
        for connected in self._open:
            connected.close()
        while self._open:
            self._none.clear()
            await self._none.wait()

    def _gone(self, lost: Socket) -> None:
        self._open.discard(lost)
        self._none.set()


@asynccontextmanager
async def until(at: float, what: str) -> AsyncGenerator[None]:
    """Raise `DeadlineExceeded` if the block lasts longer than `at`."""
    timeout = asyncio.timeout_at(at)
    try:
        async with timeout:
            yield
    except TimeoutError:
        if not timeout.expired():
            raise
    else:
        return
    raise DeadlineExceeded(what)


def _reason(error: Exception) -> str:
    match error:
        case ssl.SSLCertVerificationError(verify_message=message):
            return f"the certificate is not accepted: {message}"
        case ssl.SSLError(strerror=str(words)) | socket.gaierror(strerror=str(words)):
            return words
        case OSError(errno=int(number)):
            return os.strerror(number)  # asyncio replaces them by its own words
        case _:
            return str(error) or type(error).__name__
