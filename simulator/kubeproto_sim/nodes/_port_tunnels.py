"""Ports over SPDY in a WebSocket, which kubectl's port-forward uses: two streams for each connection.

One stream carries the data, the other an error message; a request id of the client connects them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from kubeproto.streams import MAX_DATA

from ._pod_ports import PortConnection, PortHandler, PortMessages, echo, refusal_message
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
    """The messages of a port-forward of kubectl, in both directions."""

    protocol = TUNNEL

    def __init__(self, pod: str, namespace: str, handlers: Mapping[int, PortHandler] | None) -> None:
        super().__init__()
        self._pod, self._namespace, self._handlers = pod, namespace, handlers
        self._spdy = SpdyConnection()
        self._error_streams: dict[str, int] = {}  # by request id
        self._request_ids: dict[int, str] = {}  # by stream of data

    def feed(self, message: bytes) -> None:
        """Process the frames in a message of the client."""
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
        request_id, port = headers.get("requestid", ""), headers.get("port", "")
        if headers.get("streamtype") != "data":
            self._error_streams[request_id] = stream
            return
        self._request_ids[stream] = request_id
        port_number = int(port) if port.isascii() and port.isdigit() else 0
        handler = echo if self._handlers is None else self._handlers.get(port_number)
        if handler is None:
            message = refusal_message(self._pod, port_number).encode()
            self._send(data_frame(self._error_streams.get(request_id, stream), message))
            self._end(stream)
            return
        connection = PortConnection(self._pod, self._namespace, port_number, partial(self._write, stream))
        self.connections[stream] = connection
        handler(connection)

    def _receive(self, stream: int, data: bytes, *, ends: bool) -> None:
        connection = self.connections.get(stream)
        if data and connection is not None and connection.on_data is not None:
            connection.on_data(data)
        if ends:
            self._end(stream)

    def _end(self, stream: int) -> None:
        """End both streams of a connection, and notify its handler."""
        request_id = self._request_ids.pop(stream, None)
        if request_id is None:
            return
        connection = self.connections.pop(stream, None)
        self._send(data_frame(stream, b"", ends=True))
        if (error_stream := self._error_streams.pop(request_id, None)) is not None:
            self._send(data_frame(error_stream, b"", ends=True))
        if connection is not None and connection.on_close is not None:
            connection.on_close()

    def _write(self, stream: int, data: bytes) -> None:
        if stream in self._request_ids:
            for start in range(0, len(data), MAX_DATA):
                self._send(data_frame(stream, data[start : start + MAX_DATA]))
