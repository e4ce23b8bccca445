"""`Forwarding`: the ports of a pod as streams that share one WebSocket. It knows no event loop.

A task that waits for bytes reads for all: bytes for another port are kept there, and all waiting tasks are
woken. A port whose bytes nobody reads blocks the others as soon as it has kept enough of them, because the
WebSocket can make the server wait with one port only by making it wait with all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from .._errors import LocalProtocolError, TransportError
from ._ports import Arrived, PortChannels, Unreached

if TYPE_CHECKING:
    from ..wire import Signal, WebSocket

# Bytes that wait for the reader of one port, as in kube-rs.
ENOUGH: Final = 1 << 20


class Forwarding:
    """The streams of the requested ports, in that order. `signal` makes an event of the loop."""

    def __init__(self, socket: WebSocket, ports: Sequence[int], *, signal: Callable[[], Signal]) -> None:
        self._socket = socket
        self._channels = PortChannels(ports, socket.protocol)
        self._streams = {port: PortStream(self, port) for port in ports}
        self._signal = signal
        self._changed = signal()
        self._reading = False
        self._ended = False

    def __getitem__(self, port: int) -> PortStream:
        try:
            return self._streams[port]
        except KeyError:
            raise LocalProtocolError(f"port {port!r} was not asked for") from None

    async def _send(self, port: int, data: bytes) -> None:
        for message in self._channels.send(port, data):
            await self._socket.send(message)

    async def _await(self, stream: PortStream) -> None:
        """Wait until there is something for this stream, or nothing more will come."""
        while not (stream.waiting or stream.unreached or self._ended):
            if self._reading or any(other.waiting > ENOUGH for other in self._streams.values()):
                await self._changed.wait()
            else:
                await self._read()

    async def _read(self) -> None:
        self._reading = True
        try:
            message = await self._socket.receive()
            if message is None:
                self._ended = True
                return
            match self._channels.feed(message):
                case Arrived(port, data):
                    self._streams[port].put(data)
                case Unreached(port, text):
                    self._streams[port].lose(text)
                case None:
                    pass
        finally:
            # A waiting task continues to read, even if this one has failed or was cancelled.
            self._reading = False
            self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, self._signal()
        changed.set()


class PortStream:
    """The bytes to and from one port."""

    def __init__(self, forwarding: Forwarding, port: int) -> None:
        self.port = port
        self.waiting = 0  # bytes
        self.unreached = ""
        self._forwarding = forwarding
        self._pieces: list[bytes] = []

    async def send(self, data: bytes) -> None:
        """Send this to the port."""
        if self.unreached:
            raise self._lost()
        await self._forwarding._send(self.port, data)

    async def receive(self) -> bytes:
        """Return the bytes from the port; empty when the server has closed."""
        await self._forwarding._await(self)
        if self.waiting:
            data = b"".join(self._pieces)
            self._pieces, self.waiting = [], 0
            self._forwarding._wake()
            return data
        if self.unreached:
            raise self._lost()
        return b""

    def put(self, data: bytes) -> None:
        """Keep this until it is received."""
        self._pieces.append(data)
        self.waiting += len(data)

    def lose(self, message: str) -> None:
        """Note that the server cannot reach the port."""
        self.unreached += message

    def _lost(self) -> TransportError:
        said = " ".join(self.unreached.split())[:500]
        return TransportError(f"port {self.port} is out of reach: {said}")
