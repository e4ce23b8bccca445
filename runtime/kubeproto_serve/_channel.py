"""`SocketChannel`: the bytes of one connection on anyio, with the limits on time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from kubeproto import TransportError

if TYPE_CHECKING:
    from anyio.abc import ByteStream

    from ._limits import Limits

# A client that takes this much within `stalled` seconds is slow; one that does not is stuck.
_PIECE: Final = 64 * 1024
# What a client may send ahead while it watches, before nobody reads from it any more.
_AHEAD: Final = 64 * 1024


class SocketChannel:
    """One connection. `receive` returns nothing once the client has closed or was idle for too long.

    `waiting` is True while it is the client's turn: no request of it is being answered.
    """

    def __init__(self, stream: ByteStream, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self.waiting = True
        self._ahead = b""  # read while a response was being sent

    async def receive(self) -> bytes:
        """Wait for bytes."""
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        self.waiting = True
        with anyio.move_on_after(self._limits.idle):
            data = await self._receive()
            self.waiting = not data
            return data
        return b""

    async def send(self, data: bytes) -> None:
        """Send all of it; `TransportError` if the client takes nothing for too long."""
        try:
            if len(data) <= _PIECE:
                with anyio.fail_after(self._limits.stalled):
                    await self._stream.send(data)
                return
            view = memoryview(data)
            for start in range(0, len(view), _PIECE):
                with anyio.fail_after(self._limits.stalled):
                    await self._stream.send(bytes(view[start : start + _PIECE]))
        except TimeoutError:
            raise TransportError(f"the client took no bytes for {self._limits.stalled:g} s") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise TransportError("the client has closed the connection") from None

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
