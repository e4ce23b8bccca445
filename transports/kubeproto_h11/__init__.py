"""HTTP/1.1 and WebSockets without I/O: requests and connection pools of clients, connections of servers.

A transport supplies a `ByteStream`, a clock and a signal of its event loop; `RequestDriver` does the rest. A
server supplies a `Channel` and a handler; `serve_requests` does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import pool
from ._byte_streams import ByteStream
from ._connection_pool import ConnectionPool
from ._exchange import Exchange, ResponseHead, request_name
from ._request_driver import IncomingResponse, RequestDriver
from ._request_loop import Channel, Handler, Response, serve_requests
from ._request_reader import RequestRefused
from ._server_connection import ServerConnection
from ._tunnels import open_tunnel
from ._websocket_handshake import accept_upgrade
from ._websocket_streams import WebSocketStream

if TYPE_CHECKING:
    from ._websocket_framing import CloseReason, WebSocketFraming
else:

    def __getattr__(name: str) -> object:
        # wsproto takes as long to import as h11, and most programs open no WebSocket.
        if name in ("CloseReason", "WebSocketFraming"):
            from . import _websocket_framing

            globals()[name] = export = getattr(_websocket_framing, name)
            return export
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ByteStream",
    "Channel",
    "CloseReason",
    "ConnectionPool",
    "Exchange",
    "Handler",
    "IncomingResponse",
    "RequestDriver",
    "RequestRefused",
    "Response",
    "ResponseHead",
    "ServerConnection",
    "WebSocketFraming",
    "WebSocketStream",
    "accept_upgrade",
    "open_tunnel",
    "pool",
    "request_name",
    "serve_requests",
]
