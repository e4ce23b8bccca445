"""The channels of exec and attach: the messages of their WebSocket, and `Process`, which awaits it.

A message is a byte with the number of its channel, and data::

    0 stdin    to the command
    1 stdout   from the command; an empty message opens the stream, and is ignored
    2 stderr   from the command
    3 error    from the server: a Status with the exit code
    4 resize   to the server: the new size of the terminal, as JSON
    255 close  either way, in v5 only: the next byte is the channel that has ended; only stdin is ended so

v4 cannot end stdin, so a command that reads until the end of its input never exits. Messages on other
channels are ignored, as in client-go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self, TypeAlias

import msgspec
from msgspec import Struct

from .._errors import LocalProtocolError, RemoteProtocolError, TransportError
from ..objects import Status

if TYPE_CHECKING:
    from ..wire import WebSocket

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"

_STDIN, _RESIZE, _CLOSE = 0, 4, 255

# The maximum payload of a message, as in client-go. A ping can be sent between two messages.
MAX_DATA: Final = 32 * 1024

# A Status is a few hundred bytes; etcd refuses larger objects.
_MAX_STATUS: Final = 1 << 20


class Stdout(Struct, frozen=True, gc=False):
    """Output of the command, or of its terminal."""

    data: bytes


class Stderr(Struct, frozen=True, gc=False):
    """Error output of the command."""

    data: bytes


class Exited(Struct, frozen=True):
    """The command has exited. This is the last event."""

    status: Status

    @property
    def code(self) -> int | None:
        """The exit code of the command; None if it did not start or was killed."""
        if self.status.success:
            return 0
        if self.status.reason != "NonZeroExitCode":
            return None
        codes = [cause.message for cause in self.status.details.causes if cause.reason == "ExitCode"]
        return int(codes[0]) if codes and codes[0].isascii() and codes[0].isdigit() else None


CommandEvent: TypeAlias = Stdout | Stderr | Exited


class CommandChannels:
    """Encodes and decodes the messages of a command, in the protocol that the server has selected."""

    def __init__(self, protocol: str) -> None:
        if protocol not in (V5, V4):
            raise LocalProtocolError(f"{protocol!r} is not a supported channel protocol of exec or attach")
        self.exited: Exited | None = None
        self._protocol = protocol
        self._stdin_ended = False
        self._status = b""

    def stdin(self, data: bytes) -> list[bytes]:
        """Return the messages with this input for the command."""
        if self._stdin_ended:
            raise LocalProtocolError("cannot write to stdin after its end")
        channel = bytes((_STDIN,))
        return [channel + data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)]

    def end_stdin(self) -> bytes:
        """Return the message that ends stdin, like closing a pipe."""
        if self._protocol != V5:
            raise LocalProtocolError(f"{self._protocol} cannot end stdin: the server must support {V5}")
        if self._stdin_ended:
            raise LocalProtocolError("stdin has already ended")
        self._stdin_ended = True
        return bytes((_CLOSE, _STDIN))

    def resize(self, width: int, height: int) -> bytes:
        """Return the message that resizes the terminal, in characters."""
        for size in (width, height):
            if type(size) is not int or not 0 < size < 1 << 16:
                raise LocalProtocolError(f"the size of a terminal must be from 1 to 65535, not {size!r}")
        return bytes((_RESIZE,)) + b'{"Width":%d,"Height":%d}' % (width, height)

    def feed(self, message: bytes) -> CommandEvent | None:
        """Decode a message; return its event, if it has one."""
        if not message:
            raise RemoteProtocolError("the server sent a message without a channel")
        data = message[1:]
        match message[0]:
            case 1 if data:
                return Stdout(data)
            case 2 if data:
                return Stderr(data)
            case 3 if data:
                return self._receive_status(data)
            case _:
                return None

    def close(self) -> None:
        """Handle the end of the WebSocket; raise if no exit status has arrived."""
        if self._status and self.exited is None:
            raise RemoteProtocolError("the exit status of the command is not a Status")
        if self.exited is None:
            raise TransportError("the server closed the connection without sending the command's exit status")

    def _receive_status(self, data: bytes) -> Exited | None:
        # Every observed server sends a single message, but the protocol allows several.
        self._status += data
        if self.exited is not None or len(self._status) > _MAX_STATUS:
            raise RemoteProtocolError("the exit status of the command is too long")
        try:
            status = msgspec.json.decode(self._status, type=Status)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if status.status not in ("Success", "Failure"):
            return None
        self.exited = Exited(status)
        return self.exited


class Process:
    """A command in a container, over any WebSocket: iterate over its events, while another task may write.

    Nothing is read ahead: a slow reader slows the command down. A program that only writes needs a task that
    reads, or a command with output blocks forever, and the server waits for the response to its pings.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._channels = CommandChannels(socket.protocol)

    @property
    def exited(self) -> Exited | None:
        """The exit of the command; None until it has been read."""
        return self._channels.exited

    async def write(self, data: bytes) -> None:
        """Write to the command's stdin."""
        for message in self._channels.stdin(data):
            await self._socket.send(message)

    async def end_stdin(self) -> None:
        """End its stdin, like closing a pipe; raise `LocalProtocolError` if the server supports only v4."""
        await self._socket.send(self._channels.end_stdin())

    async def resize(self, width: int, height: int) -> None:
        """Resize its terminal."""
        await self._socket.send(self._channels.resize(width, height))

    async def wait(self) -> Exited:
        """Wait until it has exited; its output is dropped."""
        while self.exited is None and await self._next_event() is not None:
            pass
        self._channels.close()
        assert self.exited is not None
        return self.exited

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CommandEvent:
        event = await self._next_event()
        if event is None:
            raise StopAsyncIteration
        return event

    async def _next_event(self) -> CommandEvent | None:
        while (message := await self._socket.receive()) is not None:
            if (event := self._channels.feed(message)) is not None:
                return event
        self._channels.close()
        return None
