"""`TrioByteStream`: one connection on trio, and the one place where trio's errors become ours."""

from __future__ import annotations

import math
import socket
import ssl
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, cast

import trio

from kubeproto import DeadlineExceeded, KubeprotoError, TransportError
from kubeproto_h11 import Sessions

from ._tls import session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

# More than a socket usually has at once, so that one read takes all.
_READ: Final = 256 * 1024

# Seconds, and how often. A peer that vanished is noticed after 30 + 4 x 15 s; client-go first asks after 30.
# No probes are sent while sent data is unacknowledged: the last option bounds that, in milliseconds.
_KEEP_ALIVE: Final = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPALIVE": 30,  # what macOS calls it
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 4,
    "TCP_USER_TIMEOUT": 90_000,
}

# A request of up to this size is sent before its response is read, because it fits the buffers of a socket.
_AT_ONCE: Final = 32 * 1024

_BROKEN: Final = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)


class TrioByteStream:
    """A connection that sends and receives. Whatever breaks on it is a `TransportError`."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.used = False
        self._socket = stream.socket
        self._stream = stream
        self._sessions = Sessions()
        self._sending = trio.Lock()
        _keep_alive(stream)

    async def encrypt(self, context: ssl.SSLContext, name: str) -> None:
        """Do the TLS handshake, perhaps inside another TLS; everything is encrypted afterwards."""
        try:
            made = session(context, name)
        except ValueError as error:
            raise TransportError(str(error)) from error
        try:
            agreed = made.shake_hands()
            await self._send(made.outgoing)
            while not agreed:
                received = await self.receive(math.inf)
                if not received:
                    raise TransportError("the other side hung up in the middle of the TLS handshake")
                agreed = made.shake_hands(received)
                await self._send(made.outgoing)
        except _BROKEN as error:
            with suppress(*_BROKEN):
                await self._send(made.outgoing)  # tell the other side why
            raise TransportError(_reason(error)) from error
        self._sessions.add(made)

    async def receive(self, by: float) -> bytes | None:
        """Return received bytes; empty when the server has closed, None if nothing arrived by that time."""
        try:
            if by == math.inf:
                return await self._receive()
            with trio.move_on_at(by):
                return await self._receive()
        except _BROKEN as error:
            raise TransportError(f"the connection broke: {_reason(error)}") from error
        return None

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        """Send all of it, and listen meanwhile; True if all had been sent when the listener was done."""
        sending = _Sending(self._send)
        if len(data) <= _AT_ONCE:
            await sending.send(data)
            await sending.listen(listen)
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(sending.send, data)
                await sending.listen(listen)
                nursery.cancel_scope.cancel()
        if sending.failure is not None:
            raise sending.failure
        return sending.sent

    async def send(self, data: bytes) -> None:
        """Send all of it, as soon as the server takes it. If cancelled, the connection is unusable."""
        try:
            await self._send(data)
        except _BROKEN as error:
            raise TransportError(f"the connection broke: {_reason(error)}") from error

    async def _receive(self) -> bytes:
        received = await self._socket.recv(_READ)
        while received and self._sessions:
            said = self._sessions.decrypt(received)
            if own := self._sessions.outgoing:
                await self._send_own(own)
            if said or self._sessions.ended:
                return said
            received = await self._socket.recv(_READ)
        return received

    async def _send(self, data: bytes) -> None:
        async with self._sending:
            await self._stream.send_all(self._sessions.encrypt(data))

    async def _send_own(self, data: bytes) -> None:
        """Send the bytes of TLS itself."""
        try:
            async with self._sending:
                await self._stream.send_all(data)
        except BaseException:
            # A part may have been sent, and what was received with it would be lost.
            self.close()
            raise

    @property
    def stale(self) -> bool:
        """True if an idle connection must not be used: its server has closed it or sent something."""
        return self._socket.fileno() < 0 or self._socket.is_readable()

    def close(self) -> None:
        """Close the socket at once; HTTP does not need TLS's closing alert to detect a cut."""
        self._socket.close()


class _Sending:
    """The outcomes of sending and listening, each without an exception that would end the other."""

    def __init__(self, sends: Callable[[bytes], Awaitable[None]]) -> None:
        self.sent = False
        self.failure: KubeprotoError | None = None
        self._sends = sends

    async def send(self, data: bytes) -> None:
        # If it breaks, listening shows why: the server may have responded before it closed.
        with suppress(*_BROKEN):
            await self._sends(data)
            self.sent = True

    async def listen(self, listen: Callable[[], Awaitable[None]]) -> None:
        try:
            await listen()
        except KubeprotoError as error:
            self.failure = error


async def open_stream(host: str, port: int) -> TrioByteStream:
    """Dial the addresses of the host, the next one when the last is slow."""
    try:
        return TrioByteStream(await trio.open_tcp_stream(host, port))
    except _BROKEN as error:
        raise TransportError(_reason(error)) from error


@contextmanager
def until(at: float, what: str) -> Generator[None]:
    """Raise `DeadlineExceeded` if the block lasts longer than `at`."""
    with trio.move_on_at(at) as scope:
        yield
    if scope.cancelled_caught:
        raise DeadlineExceeded(what)


def _reason(error: BaseException) -> str:
    """Return the system's reason at the bottom: refused, unknown host, certificate has expired."""
    inner: BaseException | None
    while (inner := error.__cause__) is not None:
        group = isinstance(inner, BaseExceptionGroup)
        error = cast("BaseExceptionGroup[BaseException]", inner).exceptions[0] if group else inner
    match error:
        case ssl.SSLCertVerificationError(verify_message=message):
            return f"the certificate is not accepted: {message}"
        case OSError(strerror=str(words)):
            return words
        case _:
            return str(error) or type(error).__name__


def _keep_alive(stream: trio.SocketStream) -> None:
    # No system has all options, and kernels in sandboxes refuse some; a connection works without them.
    with suppress(OSError):
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            with suppress(OSError):
                stream.setsockopt(socket.IPPROTO_TCP, option, value)
