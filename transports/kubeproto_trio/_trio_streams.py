"""`TrioByteStream`: a connection on trio. Only this module translates trio's errors."""

from __future__ import annotations

import math
import ssl
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, cast

import trio

from kubeproto import DeadlineExceeded, KubeprotoError, TransportError
from kubeproto_sockets import TlsSession, TlsStack, keep_alive_options, set_options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

# More than a socket usually has received, so that a read returns all of it.
_MAX_READ: Final = 256 * 1024

# A request of up to this size is sent before its response is read, because it fits the buffers of a socket.
_MAX_SEND_WITHOUT_READING: Final = 32 * 1024

_BROKEN: Final = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)


class TrioByteStream:
    """A connection that sends and receives. Every failure is a `TransportError`."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.used = False
        self._socket = stream.socket
        self._stream = stream
        self._tls = TlsStack()
        self._send_lock = trio.Lock()
        set_options(stream.socket, keep_alive_options())

    async def encrypt(self, context: ssl.SSLContext, name: str) -> None:
        """Do the TLS handshake, possibly inside another TLS session; everything is encrypted afterwards."""
        try:
            session = TlsSession(context, name)
        except ValueError as error:
            raise TransportError(str(error)) from error
        try:
            complete = session.shake_hands()
            await self._send(session.outgoing)
            while not complete:
                received = await self.receive(math.inf)
                if not received:
                    raise TransportError("the peer closed the connection during the TLS handshake")
                complete = session.shake_hands(received)
                await self._send(session.outgoing)
        except _BROKEN as error:
            with suppress(*_BROKEN):
                await self._send(session.outgoing)  # the TLS alert
            raise TransportError(_describe(error)) from error
        self._tls.add(session)

    async def receive(self, deadline: float) -> bytes | None:
        """Return received bytes; empty if the server has closed, None if nothing arrived in time."""
        try:
            if deadline == math.inf:
                return await self._receive()
            with trio.move_on_at(deadline):
                return await self._receive()
        except _BROKEN as error:
            raise TransportError(f"the connection broke: {_describe(error)}") from error
        return None

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        """Send `data` while `listen` runs; return whether all of it was sent when `listen` returned."""
        exchange = _SendAndListen(self._send)
        if len(data) <= _MAX_SEND_WITHOUT_READING:
            await exchange.send(data)
            await exchange.listen(listen)
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(exchange.send, data)
                await exchange.listen(listen)
                nursery.cancel_scope.cancel()
        if exchange.failure is not None:
            raise exchange.failure
        return exchange.sent

    async def send(self, data: bytes) -> None:
        """Send `data` as soon as the server reads it. After a cancellation the connection is unusable."""
        try:
            await self._send(data)
        except _BROKEN as error:
            raise TransportError(f"the connection broke: {_describe(error)}") from error

    async def _receive(self) -> bytes:
        received = await self._socket.recv(_MAX_READ)
        while received and self._tls:
            plaintext = self._tls.decrypt(received)
            if reply := self._tls.outgoing:
                await self._send_encrypted(reply)
            if plaintext or self._tls.closed:
                return plaintext
            received = await self._socket.recv(_MAX_READ)
        return received

    async def _send(self, data: bytes) -> None:
        async with self._send_lock:
            await self._stream.send_all(self._tls.encrypt(data))

    async def _send_encrypted(self, data: bytes) -> None:
        """Send bytes of TLS itself."""
        try:
            async with self._send_lock:
                await self._stream.send_all(data)
        except BaseException:
            # A part may have been sent, and plaintext that is already decrypted would be lost.
            self.close()
            raise

    @property
    def stale(self) -> bool:
        """True if an idle connection must not be used: its server has closed it or sent something."""
        return self._socket.fileno() < 0 or self._socket.is_readable()

    def close(self) -> None:
        """Close the socket immediately; HTTP detects a truncated response without TLS's closing alert."""
        self._socket.close()


class _SendAndListen:
    """The outcomes of sending and listening, without an exception, which would cancel the other task."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self.sent = False
        self.failure: KubeprotoError | None = None
        self._send = send

    async def send(self, data: bytes) -> None:
        # After a failure `listen` shows the cause: the server may have responded before it closed.
        with suppress(*_BROKEN):
            await self._send(data)
            self.sent = True

    async def listen(self, listen: Callable[[], Awaitable[None]]) -> None:
        try:
            await listen()
        except KubeprotoError as error:
            self.failure = error


async def connect_stream(host: str, port: int) -> TrioByteStream:
    """Connect to the first address of the host that accepts; the others are tried after a delay."""
    try:
        return TrioByteStream(await trio.open_tcp_stream(host, port))
    except _BROKEN as error:
        raise TransportError(_describe(error)) from error


@contextmanager
def fail_at(deadline: float, message: str) -> Generator[None]:
    """Raise `DeadlineExceeded` if the block has not finished at the deadline."""
    with trio.move_on_at(deadline) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlineExceeded(message)


def _describe(error: BaseException) -> str:
    """Return the system's root cause: refused, unknown host, certificate has expired."""
    inner: BaseException | None
    while (inner := error.__cause__) is not None:
        is_group = isinstance(inner, BaseExceptionGroup)
        error = cast("BaseExceptionGroup[BaseException]", inner).exceptions[0] if is_group else inner
    match error:
        case ssl.SSLCertVerificationError(verify_message=message):
            return f"the certificate is not accepted: {message}"
        case OSError(strerror=str(message)):
            return message
        case _:
            return str(error) or type(error).__name__
