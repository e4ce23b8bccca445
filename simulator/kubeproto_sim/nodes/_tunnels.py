"""Ports over SPDY in a WebSocket, as kubectl's port-forward asks for them: two streams for each connection.

One stream carries the data, the other what went wrong; a request id of the client connects them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from kubeproto.streams import PIECE

from ._ports import PortConnection, PortHandler, PortMessages, echo, refusal
from ._spdy import (
    DataReceived,
    PingReceived,
    SpdyConnection,
    SpdyError,
    StreamOpened,
    StreamReset,
    data_frame,
)

TUNNEL: Final = "SPDY/3.1+portforward.k8s.io"


class TunnelConversation(PortMessages):
    """The messages of one port-forward of kubectl, both ways."""

    protocol = TUNNEL

    def __init__(self, pod: str, namespace: str, handlers: Mapping[int, PortHandler] | None) -> None:
        super().__init__()
        self._pod, self._namespace, self._handlers = pod, namespace, handlers
        self._spdy = SpdyConnection()
        self._errors: dict[str, int] = {}  # the stream of errors of a request
        self._requests: dict[int, str] = {}  # the request of a stream of data

    def feed(self, message: bytes) -> None:
        """Take a message of the client."""
        try:
            for event in self._spdy.feed(message):
                match event:
                    case StreamOpened():
                        self._open(event)
                    case DataReceived(stream, data, ends):
                        self._receive(stream, data, ends=ends)
                    case StreamReset(stream):
                        self._end(stream)
                    case PingReceived(frame):
                        self._send(frame)
        except SpdyError:
            self.close()

    def _open(self, event: StreamOpened) -> None:
        headers, stream = event.headers, event.stream
        self._send(self._spdy.reply(stream))
        request, port = headers.get("requestid", ""), headers.get("port", "")
        if headers.get("streamtype") != "data":
            self._errors[request] = stream
            return
        self._requests[stream] = request
        number = int(port) if port.isascii() and port.isdigit() else 0
        handler = echo if self._handlers is None else self._handlers.get(number)
        if handler is None:
            why = refusal(self._pod, number).encode()
            self._send(data_frame(self._errors.get(request, stream), why))
            self._end(stream)
            return
        connection = PortConnection(self._pod, self._namespace, number, partial(self._write, stream))
        self.connections[stream] = connection
        handler(connection)

    def _receive(self, stream: int, data: bytes, *, ends: bool) -> None:
        connection = self.connections.get(stream)
        if data and connection is not None and connection.on_data is not None:
            connection.on_data(data)
        if ends:
            self._end(stream)

    def _end(self, stream: int) -> None:
        """End both streams of a connection, and tell its handler."""
        request = self._requests.pop(stream, None)
        if request is None:
            return
        connection = self.connections.pop(stream, None)
        self._send(data_frame(stream, b"", ends=True))
        if (errors := self._errors.pop(request, None)) is not None:
            self._send(data_frame(errors, b"", ends=True))
        if connection is not None and connection.on_close is not None:
            connection.on_close()

    def _write(self, stream: int, data: bytes) -> None:
        if stream in self._requests:
            for at in range(0, len(data), PIECE):
                self._send(data_frame(stream, data[at : at + PIECE]))
