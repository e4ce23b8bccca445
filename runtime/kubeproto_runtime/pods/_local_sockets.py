"""Local TCP connections that read nothing before it is requested.

On asyncio, anyio reads from an accepted connection as fast as bytes arrive, taken or not: a gibibyte that was
sent to a slow pod took 800 MiB of memory.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from typing import Self

# Before anyio 4.7 they had the second name.
_readable, _writable = (
    getattr(anyio, f"wait_{state}", None) or getattr(anyio, f"wait_socket_{state}")
    for state in ("readable", "writable")
)
_QUEUE: Final = 128
_SHORT_OF: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE: Final = 0.1


class LocalListener:
    """Listens on one address; `port` is the one that was taken."""

    def __init__(self, host: str, port: int) -> None:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._socket = socket.create_server(address[:2], family=family, backlog=_QUEUE)
        except OSError as error:
            raise OSError(
                error.errno, f"{host}:{port} cannot be used to listen: {error.strerror or error}"
            ) from error
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    async def serve(self, carry: Callable[[LocalConnection], Coroutine[Any, Any, None]]) -> None:
        """Call this for each connection, side by side; until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                try:
                    accepted, _ = self._socket.accept()
                except BlockingIOError:
                    await _readable(self._socket)
                except ConnectionError:
                    await checkpoint()  # it has been closed already
                except OSError as error:
                    if error.errno not in _SHORT_OF:
                        raise
                    await anyio.sleep(_PAUSE)  # until some of the others have ended
                else:
                    tasks.start_soon(carry, LocalConnection(accepted))

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


class LocalConnection:
    """One connection; it is closed when the block is left."""

    def __init__(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = accepted

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._socket.close()

    async def receive(self, most: int) -> bytes:
        """Return the next bytes; none when the other side has ended."""
        await checkpoint()
        while True:
            try:
                return self._socket.recv(most)
            except BlockingIOError:
                await _readable(self._socket)

    async def send(self, data: bytes) -> None:
        """Send this, as fast as the other side takes it."""
        await checkpoint()
        left = memoryview(data)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                await _writable(self._socket)

    def end(self) -> None:
        """Close this direction; the other one may stay open."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
