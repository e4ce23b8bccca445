"""HTTP/1.1 and WebSockets without I/O: requests and connection pools of clients, connections of servers.

A transport supplies a `ByteStream`, a clock and a signal of its event loop; `RequestDriver` does the rest. A
server supplies a `Channel` and a handler; `serve_requests` does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import pool
from ._byte_streams import ByteStream as ByteStream
from ._connection_pool import ConnectionPool as ConnectionPool
from ._exchange import Exchange as Exchange, ResponseHead as ResponseHead, request_name as request_name
from ._request_driver import H11Response as H11Response, RequestDriver as RequestDriver
from ._request_loop import Channel, Handler, Response, serve_requests as serve_requests
from ._request_reader import RequestRefused
from ._server_connection import ServerConnection as ServerConnection
from ._tunnels import open_tunnel as open_tunnel
from ._websocket_handshake import accept_upgrade as accept_upgrade
from ._websocket_streams import WebSocketStream as WebSocketStream

if TYPE_CHECKING:
    from ._websocket_framing import CloseReason as CloseReason, WebSocketFraming as WebSocketFraming
else:

    def __getattr__(name: str) -> object:
        # wsproto takes as long to import as h11, and most programs open no WebSocket.
        if name in ("CloseReason", "WebSocketFraming"):
            from . import _websocket_framing

            globals()[name] = export = getattr(_websocket_framing, name)
            return export
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Channel",
    "Handler",
    "RequestRefused",
    "Response",
    "pool",
]
