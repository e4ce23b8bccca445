"""`AsyncioByteStream`: a connection on asyncio. Only this module translates asyncio's errors."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubeproto import DeadlineExceeded, TransportError
from kubeproto_sockets import TlsSession, TlsStack

from ._happy_eyeballs import connect_socket
from ._stream_protocol import StreamProtocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable


class AsyncioByteStream:
    """A connection that sends and receives. Every failure is a `TransportError`."""

    def __init__(self, protocol: StreamProtocol) -> None:
        self.used = False
        self._protocol = protocol
        self._tls = TlsStack()
        self._closed = False

    async def encrypt(self, context: ssl.SSLContext, name: str) -> None:
        """Do the TLS handshake, possibly inside another TLS session; everything is encrypted afterwards."""
        try:
            session = TlsSession(context, name)
        except ValueError as error:
            raise TransportError(str(error)) from error
        try:
            complete = session.shake_hands()
            while not complete:
                self._send(session.outgoing)
                received = await self.receive(math.inf)
                if not received:
                    raise TransportError("the peer closed the connection during the TLS handshake")
                complete = session.shake_hands(received)
        except OSError as error:
            raise TransportError(_describe(error)) from error
        finally:
            self._send(session.outgoing)  # after a failure this sends the TLS alert
        self._tls.add(session)

    async def receive(self, deadline: float) -> bytes | None:
        """Return received bytes; empty if the server has closed, None if nothing arrived in time."""
        if self._closed:
            raise TransportError("the connection was closed on this side")
        try:
            received = await self._protocol.receive(deadline)
            while received and self._tls:
                plaintext = self._tls.decrypt(received)
                self._protocol.send(self._tls.outgoing)
                if plaintext or self._tls.closed:
                    return plaintext
                received = await self._protocol.receive(deadline)
        except OSError as error:
            raise TransportError(f"the connection broke: {_describe(error)}") from error
        return received

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        """Send `data` while `listen` runs; return whether all of it was sent when `listen` returned."""
        self._send(data)
        await listen()
        return self._protocol.drained

    async def send(self, data: bytes) -> None:
        """Send `data` as soon as the server reads it. After a cancellation the connection is unusable."""
        if self._closed:
            raise TransportError("the connection was closed on this side")
        self._send(data)
        try:
            await self._protocol.drain()
        except OSError as error:
            raise TransportError(f"the connection broke: {_describe(error)}") from error

    @property
    def stale(self) -> bool:
        """True if an idle connection must not be used: its server has closed it or sent something."""
        return self._closed or self._protocol.readable

    def close(self) -> None:
        """Close the socket immediately; HTTP detects a truncated response without TLS's closing alert."""
        self._closed = True
        self._protocol.close()

    def _send(self, data: bytes) -> None:
        self._protocol.send(self._tls.encrypt(data))


class AsyncioConnector:
    """Opens connections, and waits for the end of their sockets when the transport is closed."""

    def __init__(self) -> None:
        self._open: set[StreamProtocol] = set()
        self._lost = asyncio.Event()

    async def connect(self, host: str, port: int) -> AsyncioByteStream:
        """Connect to the first address of the host that accepts; the others are tried after a delay."""
        loop = asyncio.get_running_loop()
        try:
            connection = await connect_socket(host, port)
            protocol = StreamProtocol(self._forget)
            self._open.add(protocol)
            try:
                await loop.create_connection(lambda: protocol, sock=connection)
            except BaseException:
                if not protocol.connected:
                    # asyncio will never report the loss of this socket, and `close` would wait for it.
                    connection.close()
                    self._forget(protocol)
                raise
        except OSError as error:
            raise TransportError(_describe(error)) from error
        return AsyncioByteStream(protocol)

    async def close(self) -> None:
        """Close all sockets, and wait for the loop, which closes them a moment later."""
        for protocol in self._open:
            protocol.close()
        while self._open:
            self._lost.clear()
            await self._lost.wait()

    def _forget(self, protocol: StreamProtocol) -> None:
        self._open.discard(protocol)
        self._lost.set()


@asynccontextmanager
async def fail_at(deadline: float, message: str) -> AsyncGenerator[None]:
    """Raise `DeadlineExceeded` if the block has not finished at the deadline."""
    timeout = asyncio.timeout_at(deadline)
    try:
        async with timeout:
            yield
    except TimeoutError:
        if not timeout.expired():
            raise
    else:
        return
    raise DeadlineExceeded(message)


def _describe(error: Exception) -> str:
    match error:
        case ssl.SSLCertVerificationError(verify_message=message):
            return f"the certificate is not accepted: {message}"
        case ssl.SSLError(strerror=str(message)) | socket.gaierror(strerror=str(message)):
            return message
        case OSError(errno=int(number)):
            return os.strerror(number)  # asyncio replaces the system's message with its own
        case _:
            return str(error) or type(error).__name__
