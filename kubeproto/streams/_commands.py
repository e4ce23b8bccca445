"""The channels of exec and attach: the messages of their WebSocket.

A message is one byte, which names the channel, and the data of that channel::

    0 stdin    to the command
    1 stdout   from it; an empty one opens the stream, and has no data
    2 stderr   from it
    3 error    from the server: one Status, which says how it ended
    4 resize   to the server: the terminal's new size, as JSON
    255 close  either way: the channel of the next byte has ended. Only in v5, and of use for stdin alone

v4 cannot end stdin, so a command that reads until the end of its input never ends there. Messages on other
channels are ignored, as in Go's client.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from .._errors import LocalProtocolError, RemoteProtocolError, TransportError
from ..objects import Status

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"

_STDIN, _RESIZE, _CLOSE = 0, 4, 255

# As client-go cuts it. A ping can go out between two of them.
PIECE: Final = 32 * 1024

# A Status is a few hundred bytes; etcd accepts none above this.
_MAX_STATUS: Final = 1 << 20


class Stdout(Struct, frozen=True, gc=False):
    """What the command wrote to its standard output, or to its terminal."""

    data: bytes


class Stderr(Struct, frozen=True, gc=False):
    """What the command wrote to its standard error."""

    data: bytes


class Exited(Struct, frozen=True):
    """How it ended. This is the last message: no output follows."""

    status: Status

    @property
    def code(self) -> int | None:
        """The exit code of the command; None if it did not run or was cut short."""
        if self.status.success:
            return 0
        if self.status.reason != "NonZeroExitCode":
            return None
        told = [cause.message for cause in self.status.details.causes if cause.reason == "ExitCode"]
        return int(told[0]) if told and told[0].isascii() and told[0].isdigit() else None


CommandEvent: TypeAlias = Stdout | Stderr | Exited


class CommandChannels:
    """Reads and writes the messages of one command. `protocol` is the one that the server chose."""

    def __init__(self, protocol: str) -> None:
        if protocol not in (V5, V4):
            raise LocalProtocolError(f"{protocol!r} is not a supported channel protocol of exec or attach")
        self.exited: Exited | None = None
        self._protocol = protocol
        self._stdin_ended = False
        self._status = b""

    def stdin(self, data: bytes) -> list[bytes]:
        """Return the messages that carry this to the command."""
        if self._stdin_ended:
            raise LocalProtocolError("stdin was ended, and nothing can be written to it")
        return [bytes((_STDIN,)) + data[at : at + PIECE] for at in range(0, len(data), PIECE)]

    def end_stdin(self) -> bytes:
        """Return the message that ends stdin, as a closed pipe would."""
        if self._protocol != V5:
            raise LocalProtocolError(
                f"{self._protocol} cannot end stdin, and this server speaks nothing newer"
            )
        if self._stdin_ended:
            raise LocalProtocolError("stdin was ended before")
        self._stdin_ended = True
        return bytes((_CLOSE, _STDIN))

    def resize(self, width: int, height: int) -> bytes:
        """Return the message that gives the terminal another size, in characters."""
        for size in (width, height):
            if type(size) is not int or not 0 < size < 1 << 16:
                raise LocalProtocolError(f"a terminal is 1 to 65535 characters wide and high, not {size!r}")
        return bytes((_RESIZE,)) + b'{"Width":%d,"Height":%d}' % (width, height)

    def feed(self, message: bytes) -> CommandEvent | None:
        """Take a message; return its event, if it has one."""
        if not message:
            raise RemoteProtocolError("a message of the server names no channel")
        data = message[1:]
        match message[0]:
            case 1 if data:
                return Stdout(data)
            case 2 if data:
                return Stderr(data)
            case 3 if data:
                return self._end(data)
            case _:
                return None

    def close(self) -> None:
        """The server has closed the WebSocket, which is right once it has sent how the command ended."""
        if self._status and self.exited is None:
            raise RemoteProtocolError("the server's report of how the command ended is not a Status")
        if self.exited is None:
            raise TransportError("the server closed without reporting how the command ended")

    def _end(self, data: bytes) -> Exited | None:
        # One message on every server that was observed, but the protocol has a stream here.
        self._status += data
        if self.exited is not None or len(self._status) > _MAX_STATUS:
            raise RemoteProtocolError("the server's report of how the command ended is too long")
        try:
            status = msgspec.json.decode(self._status, type=Status)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if status.status not in ("Success", "Failure"):
            return None
        self.exited = Exited(status)
        return self.exited
