"""`WebSocketFraming`: the messages of a WebSocket as bytes in and bytes out, by wsproto.

::

    open ──feed──> messages; the pong for a ping is in `outgoing`
      ├── close frame of the peer ──> `close_reason` is set, and our close frame is in `outgoing`
      └── close() ──> our close frame is sent; messages are returned until the peer's ──> `close_reason`

No extension is offered, so none is used. A violation of the WebSocket protocol is a `RemoteProtocolError`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage

from kubeproto import LocalProtocolError, RemoteProtocolError

# A kubelet splits its messages at 32 KiB. golang.org/x/net/websocket accepts 32 MiB, Python's websockets 1
# MiB.
_MAX_MESSAGE: Final = 16 << 20

_NORMAL_CODE: Final = 1000
_NO_CODE: Final = 1005  # the code of an empty close frame


class CloseReason(Struct, frozen=True):
    """The code and the reason of the peer's close frame."""

    code: int
    reason: str = ""

    @property
    def normal(self) -> bool:
        """True for the code 1000, and for a close frame without a code."""
        return self.code in (_NORMAL_CODE, _NO_CODE)


class WebSocketFraming:
    """One WebSocket. Send `outgoing` after each `feed`.

    `received` are bytes that arrived together with the handshake. With `server` this is the server's side;
    "the server" in error messages is the client then.
    """

    def __init__(
        self, received: bytes = b"", *, max_message: int = _MAX_MESSAGE, server: bool = False
    ) -> None:
        self.close_reason: CloseReason | None = None
        self._max_message = max_message
        self._received = received
        self._replies: list[bytes] = []
        self._fragments: list[bytes] = []
        self._size = 0
        self._wsproto = Connection(ConnectionType.SERVER if server else ConnectionType.CLIENT)

    @property
    def open(self) -> bool:
        """True until one side has sent a close frame."""
        return self._wsproto.state is ConnectionState.OPEN

    @property
    def outgoing(self) -> bytes:
        """The bytes to send in response to the fed bytes, returned once."""
        replies, self._replies = self._replies, []
        return b"".join(replies)

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes of the server; return the messages that are complete."""
        data, self._received = self._received + data, b""
        if not data or self.close_reason is not None:
            return []
        messages: list[bytes] = []
        self._wsproto.receive_data(data)
        for event in self._wsproto.events():
            self._handle(event, messages)
        return messages

    def send(self, message: bytes) -> bytes:
        """Return the bytes that carry a binary message."""
        self._require_open()
        return self._wsproto.send(BytesMessage(data=message))

    def send_text(self, message: str) -> bytes:
        """Return the bytes that carry a text message, in which servers send the events of a watch."""
        self._require_open()
        return self._wsproto.send(TextMessage(data=message))

    def ping(self) -> bytes:
        """Return the bytes of a ping."""
        self._require_open()
        return self._wsproto.send(Ping())

    def close(self) -> bytes:
        """Return the bytes of a close frame; empty if it has been sent already."""
        return self._wsproto.send(CloseConnection(code=_NORMAL_CODE)) if self.open else b""

    def _handle(self, event: Event, messages: list[bytes]) -> None:
        if self.close_reason is not None:
            return  # data after a close frame is ignored
        match event:
            case BytesMessage(data=data, message_finished=finished):
                self._add_fragment(bytes(data), finished, messages)
            case TextMessage(data=text, message_finished=finished):
                self._add_fragment(text.encode(), finished, messages)
            case Ping():
                if self.open:
                    self._replies.append(self._wsproto.send(Pong(payload=event.payload)))
            case CloseConnection():
                self._handle_close(event)
            case _:
                pass

    def _handle_close(self, frame: CloseConnection) -> None:
        match self._wsproto.state:
            case ConnectionState.OPEN:  # wsproto made this event itself, because the bytes are malformed
                self._replies.append(self._wsproto.send(frame))
                raise RemoteProtocolError(f"the server violates the WebSocket protocol: {frame.reason}")
            case ConnectionState.LOCAL_CLOSING:
                raise RemoteProtocolError(f"the server violates the WebSocket protocol: {frame.reason}")
            case ConnectionState.REMOTE_CLOSING:
                reply = CloseConnection(code=frame.code, reason=frame.reason)
                self._replies.append(self._wsproto.send(reply))
            case _:
                pass
        self.close_reason = CloseReason(int(frame.code), frame.reason or "")

    def _add_fragment(self, data: bytes, finished: bool, messages: list[bytes]) -> None:
        self._fragments.append(data)
        self._size += len(data)
        if self._size > self._max_message:
            raise RemoteProtocolError(f"a message of the server is longer than {self._max_message} bytes")
        if finished:
            messages.append(data if len(self._fragments) == 1 else b"".join(self._fragments))
            self._fragments, self._size = [], 0

    def _require_open(self) -> None:
        if not self.open:
            raise LocalProtocolError("the WebSocket is closed: no message can be sent on it")
