"""The channels of port-forward: two for each port, of which the first begins with the port's number.

::

    2 i      both ways: the bytes of the port that was named i-th in the request
    2 i + 1  from the server: why that port is out of reach, as text

The first two bytes on each channel are the number of its port, the low byte first. A single port cannot be
ended: a client that needs that forwards each port by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from .._errors import LocalProtocolError, RemoteProtocolError
from ._commands import PIECE, V4


class Arrived(Struct, frozen=True, gc=False):
    """Bytes from a port of the pod."""

    port: int
    data: bytes


class Unreached(Struct, frozen=True, gc=False):
    """The port cannot be reached: nothing listens there, or it was lost."""

    port: int
    message: str


PortEvent: TypeAlias = Arrived | Unreached


class PortChannels:
    """Reads and writes the messages of one port-forward: of these ports, in the order of the request."""

    def __init__(self, ports: Sequence[int], protocol: str = V4) -> None:
        if protocol != V4:
            raise LocalProtocolError(f"{protocol!r} is not a supported channel protocol of port-forward")
        self._ports = tuple(ports)
        # The missing bytes of the number that opens each channel.
        self._openings = [port.to_bytes(2, "little") for port in ports for _ in range(2)]

    def send(self, port: int, data: bytes) -> list[bytes]:
        """Return the messages that carry this to a port."""
        channel = bytes((2 * self._index(port),))
        return [channel + data[at : at + PIECE] for at in range(0, len(data), PIECE)]

    def feed(self, message: bytes) -> PortEvent | None:
        """Take a message; return its event, if it has one."""
        if not message or message[0] >= len(self._openings):
            raise RemoteProtocolError("a message of the server names no channel of a port that was asked for")
        index, is_error = divmod(message[0], 2)
        data = self._after_opening(message[0], message[1:])
        if not data:
            return None
        port = self._ports[index]
        return Unreached(port, data.decode("utf-8", "replace")) if is_error else Arrived(port, data)

    def _index(self, port: int) -> int:
        try:
            return self._ports.index(port)
        except ValueError:
            raise LocalProtocolError(f"port {port!r} was not asked for") from None

    def _after_opening(self, channel: int, data: bytes) -> bytes:
        due = self._openings[channel]
        if not due:
            return data
        if data[: len(due)] != due[: len(data)]:
            raise RemoteProtocolError(
                f"the server opens channel {channel} with another port than {self._ports[channel // 2]}"
            )
        self._openings[channel] = due[len(data) :]
        return data[len(due) :]
