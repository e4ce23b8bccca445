"""The channels of port-forward: the messages of their WebSocket, and `PortForwarding`, which awaits it.

Each port of the request has two channels::

    2 i      both ways: the bytes of the port with index i
    2 i + 1  from the server: an error text, if it cannot reach the port

The first two bytes on each channel are the number of its port, the low byte first. A single port cannot be
closed: a client that needs this forwards each port separately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from .._errors import LocalProtocolError, RemoteProtocolError, TransportError
from ._command_channels import MAX_DATA, V4

if TYPE_CHECKING:
    from ..wire import Signal, WebSocket

# Stop reading once a port has this many buffered bytes, as kube-rs does.
MAX_BUFFERED: Final = 1 << 20


class PortData(Struct, frozen=True, gc=False):
    """Bytes from a port of the pod."""

    port: int
    data: bytes


class PortError(Struct, frozen=True, gc=False):
    """The server cannot reach a port: no process listens, or the connection was lost."""

    port: int
    message: str


PortEvent: TypeAlias = PortData | PortError


class PortChannels:
    """Encodes and decodes the messages of a port-forward, with the ports in the order of the request."""

    def __init__(self, ports: Sequence[int], protocol: str = V4) -> None:
        if protocol != V4:
            raise LocalProtocolError(f"{protocol!r} is not a supported channel protocol of port-forward")
        self._ports = tuple(ports)
        # The missing bytes of the port number on each channel.
        self._prefixes = [port.to_bytes(2, "little") for port in ports for _ in range(2)]

    def send(self, port: int, data: bytes) -> list[bytes]:
        """Return the messages with these bytes for a port."""
        channel = bytes((2 * self._index_of(port),))
        return [channel + data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)]

    def feed(self, message: bytes) -> PortEvent | None:
        """Decode a message; return its event, if it has one."""
        if not message or message[0] >= len(self._prefixes):
            raise RemoteProtocolError("the server sent a message without a channel of a requested port")
        index, is_error = divmod(message[0], 2)
        data = self._remove_prefix(message[0], message[1:])
        if not data:
            return None
        port = self._ports[index]
        return PortError(port, data.decode("utf-8", "replace")) if is_error else PortData(port, data)

    def _index_of(self, port: int) -> int:
        try:
            return self._ports.index(port)
        except ValueError:
            raise LocalProtocolError(f"port {port!r} was not requested") from None

    def _remove_prefix(self, channel: int, data: bytes) -> bytes:
        prefix = self._prefixes[channel]
        if not prefix:
            return data
        if data[: len(prefix)] != prefix[: len(data)]:
            raise RemoteProtocolError(
                f"the server opens channel {channel} for a port other than {self._ports[channel // 2]}"
            )
        self._prefixes[channel] = prefix[len(data) :]
        return data[len(prefix) :]


class PortForwarding:
    """The requested ports as streams that share a WebSocket. `signal` makes an event of the event loop.

    A task that waits for bytes reads for all tasks: it buffers the bytes of the other ports, and wakes their
    tasks. A port whose bytes nobody receives blocks the others when its buffer is full, because a WebSocket
    cannot stop the server from sending for a single port.
    """

    def __init__(self, socket: WebSocket, ports: Sequence[int], *, signal: Callable[[], Signal]) -> None:
        self._socket = socket
        self._channels = PortChannels(ports, socket.protocol)
        self._streams = {port: PortStream(self, port) for port in ports}
        self._signal = signal
        self._changed = signal()
        self._reading = False
        self._closed = False

    def __getitem__(self, port: int) -> PortStream:
        try:
            return self._streams[port]
        except KeyError:
            raise LocalProtocolError(f"port {port!r} was not requested") from None

    async def _send(self, port: int, data: bytes) -> None:
        for message in self._channels.send(port, data):
            await self._socket.send(message)

    async def _wait_for(self, stream: PortStream) -> None:
        """Wait until the stream has bytes or an error, or the server has closed."""
        while not (stream.buffered or stream.error or self._closed):
            if self._reading or any(other.buffered > MAX_BUFFERED for other in self._streams.values()):
                await self._changed.wait()
            else:
                await self._read()

    async def _read(self) -> None:
        self._reading = True
        try:
            message = await self._socket.receive()
            if message is None:
                self._closed = True
                return
            match self._channels.feed(message):
                case PortData(port, data):
                    self._streams[port].put(data)
                case PortError(port, text):
                    self._streams[port].fail(text)
                case None:
                    pass
        finally:
            # Another waiting task continues to read, even if this task has failed or was cancelled.
            self._reading = False
            self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, self._signal()
        changed.set()


class PortStream:
    """The bytes to and from a port."""

    def __init__(self, forwarding: PortForwarding, port: int) -> None:
        self.port = port
        self.buffered = 0  # bytes
        self.error = ""
        self._forwarding = forwarding
        self._chunks: list[bytes] = []

    async def send(self, data: bytes) -> None:
        """Send bytes to the port."""
        if self.error:
            raise self._make_error()
        await self._forwarding._send(self.port, data)

    async def receive(self) -> bytes:
        """Return bytes from the port; b"" when the server has closed."""
        await self._forwarding._wait_for(self)
        if self.buffered:
            data = b"".join(self._chunks)
            self._chunks, self.buffered = [], 0
            self._forwarding._notify()
            return data
        if self.error:
            raise self._make_error()
        return b""

    def put(self, data: bytes) -> None:
        """Buffer bytes until they are received."""
        self._chunks.append(data)
        self.buffered += len(data)

    def fail(self, message: str) -> None:
        """Record that the server cannot reach the port."""
        self.error += message

    def _make_error(self) -> TransportError:
        text = " ".join(self.error.split())[:500]
        return TransportError(f"the server cannot reach port {self.port}: {text}")
