"""`Framing`: the messages of one WebSocket as bytes in and bytes out, by wsproto.

::

    open ──feed──> messages; a ping is answered in `outgoing`
      ├── the server's farewell ──> `farewell`, and ours is in `outgoing`
      └── close() ──> ours goes first; what still comes is read until the server's ──> `farewell`

No extension is offered, so none is in use. What breaks the rules of WebSockets is a `RemoteProtocolError`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage

from kubeproto import LocalProtocolError, RemoteProtocolError

# A kubelet cuts its messages at 32 KiB. golang.org/x/net/websocket takes 32 MiB, Python's websockets 1 MiB.
MAX_MESSAGE: Final = 16 << 20

_NORMAL: Final = 1000
_WITHOUT_CODE: Final = 1005  # what an empty close frame means


class CloseReason(Struct, frozen=True):
    """The server has closed, and why."""

    code: int
    reason: str = ""

    @property
    def good(self) -> bool:
        """True if it was a normal close, with the code 1000 or without a code."""
        return self.code in (_NORMAL, _WITHOUT_CODE)


class Framing:
    """One WebSocket, of which `rest` has arrived already. Send `outgoing` whenever something was fed.

    With `server` it is the server's side; "the server" in what is raised is the client then.
    """

    def __init__(self, rest: bytes = b"", *, max_message: int = MAX_MESSAGE, server: bool = False) -> None:
        self.farewell: CloseReason | None = None
        self._max_message = max_message
        self._rest = rest
        self._replies: list[bytes] = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._wsproto = Connection(ConnectionType.SERVER if server else ConnectionType.CLIENT)

    @property
    def open(self) -> bool:
        """True until one side has sent a close frame."""
        return self._wsproto.state is ConnectionState.OPEN

    @property
    def outgoing(self) -> bytes:
        """The bytes to send in response to what was fed."""
        replies, self._replies = self._replies, []
        return b"".join(replies)

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes of the server; return the messages that are complete."""
        data, self._rest = self._rest + data, b""
        if not data or self.farewell is not None:
            return []
        messages: list[bytes] = []
        self._wsproto.receive_data(data)
        for event in self._wsproto.events():
            self._take(event, messages)
        return messages

    def send(self, message: bytes) -> bytes:
        """The bytes that carry this message."""
        self._must_be_open()
        return self._wsproto.send(BytesMessage(data=message))

    def send_text(self, message: str) -> bytes:
        """The bytes that carry this message as text, in which servers send the events of a watch."""
        self._must_be_open()
        return self._wsproto.send(TextMessage(data=message))

    def ping(self) -> bytes:
        """Return the bytes of a ping."""
        self._must_be_open()
        return self._wsproto.send(Ping())

    def close(self) -> bytes:
        """Return the bytes of a close frame; none if one was sent."""
        return self._wsproto.send(CloseConnection(code=_NORMAL)) if self.open else b""

    def _take(self, event: Event, messages: list[bytes]) -> None:
        if self.farewell is not None:
            return  # what follows it is ignored
        match event:
            case BytesMessage(data=data, message_finished=finished):
                self._add(bytes(data), finished, messages)
            case TextMessage(data=text, message_finished=finished):
                self._add(text.encode(), finished, messages)
            case Ping():
                if self.open:
                    self._replies.append(self._wsproto.send(Pong(payload=event.payload)))
            case CloseConnection():
                self._close(event)
            case _:
                pass

    def _close(self, said: CloseConnection) -> None:
        match self._wsproto.state:
            case ConnectionState.OPEN:  # wsproto itself closes, because the bytes are malformed
                self._replies.append(self._wsproto.send(said))
                raise RemoteProtocolError(f"what the server says is not a WebSocket: {said.reason}")
            case ConnectionState.LOCAL_CLOSING:
                raise RemoteProtocolError(f"what the server says is not a WebSocket: {said.reason}")
            case ConnectionState.REMOTE_CLOSING:
                self._replies.append(self._wsproto.send(CloseConnection(code=said.code, reason=said.reason)))
            case _:
                pass
        self.farewell = CloseReason(int(said.code), said.reason or "")

    def _add(self, data: bytes, finished: bool, messages: list[bytes]) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size > self._max_message:
            raise RemoteProtocolError(f"a message of the server continues after {self._max_message} bytes")
        if finished:
            messages.append(data if len(self._pieces) == 1 else b"".join(self._pieces))
            self._pieces, self._size = [], 0

    def _must_be_open(self) -> None:
        if not self.open:
            raise LocalProtocolError("the WebSocket is closed, and nothing can be sent on it")
