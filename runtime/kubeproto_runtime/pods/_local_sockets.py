"""Local TCP connections that read only when `receive` is called.

On asyncio, anyio reads from an accepted connection as fast as bytes arrive: a gibibyte that was sent to a
slow pod took 800 MiB of memory.
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

# anyio before 4.7 has only the second name.
_readable, _writable = (
    getattr(anyio, f"wait_{state}", None) or getattr(anyio, f"wait_socket_{state}")
    for state in ("readable", "writable")
)
_BACKLOG: Final = 128
_OUT_OF_RESOURCES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE: Final = 0.1


class LocalListener:
    """Listens on one address. `port` is the number of the port, also if a free port was requested."""

    def __init__(self, host: str, port: int) -> None:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._socket = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
        except OSError as error:
            raise OSError(
                error.errno, f"cannot listen on {host}:{port}: {error.strerror or error}"
            ) from error
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    async def serve(self, handler: Callable[[LocalConnection], Coroutine[Any, Any, None]]) -> None:
        """Run the handler for each connection, concurrently, until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                try:
                    accepted, _ = self._socket.accept()
                except BlockingIOError:
                    await _readable(self._socket)
                except ConnectionError:
                    await checkpoint()  # the client has closed it already
                except OSError as error:
                    if error.errno not in _OUT_OF_RESOURCES:
                        raise
                    await anyio.sleep(_PAUSE)  # until other connections have ended
                else:
                    tasks.start_soon(handler, LocalConnection(accepted))

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


class LocalConnection:
    """An accepted connection; it is closed at the end of the block."""

    def __init__(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = accepted

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._socket.close()

    async def receive(self, max_bytes: int) -> bytes:
        """Return the next bytes; empty when the client has closed its sending direction."""
        await checkpoint()
        while True:
            try:
                return self._socket.recv(max_bytes)
            except BlockingIOError:
                await _readable(self._socket)

    async def send(self, data: bytes) -> None:
        """Send bytes. Return when the client has accepted them."""
        await checkpoint()
        unsent = memoryview(data)
        while unsent:
            try:
                unsent = unsent[self._socket.send(unsent) :]
            except BlockingIOError:
                await _writable(self._socket)

    def end(self) -> None:
        """Close the sending direction; the client may still send."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
