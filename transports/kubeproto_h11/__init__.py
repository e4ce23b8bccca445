"""HTTP/1.1 and WebSockets without any I/O: the client's exchange and pool, the server's connection.

A transport brings a `ByteStream`, a clock and a signal of its event loop; `Calling` does the rest. A server
brings a `Channel` and a handler; `serve_requests` does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import pool
from ._byte_streams import ByteStream, open_tunnel
from ._calls import Call, Calling, IncomingResponse
from ._connection_pool import ConnectionPool
from ._exchange import MAX_HEAD, Exchange, ResponseHead
from ._reloading_tls import ReloadingTLS
from ._replays import may_replay
from ._request_reader import RequestRefused
from ._requests import addressed, named
from ._server import MAX_BODY, ServerConnection
from ._serving import Channel, Handler, Response, serve_requests
from ._sessions import Buffer, Session, Sessions, Tls
from ._tunnels import HttpTunnel, SocksTunnel, Tunnel, tunnel
from ._upgrades import Upgrade, accept_upgrade, upgrade
from ._websockets import WebSocketStream

if TYPE_CHECKING:
    from ._framing import MAX_MESSAGE, CloseReason, Framing
else:

    def __getattr__(name: str) -> object:
        # wsproto takes as long to import as h11, and most programs open no WebSocket.
        if name in ("MAX_MESSAGE", "CloseReason", "Framing"):
            from . import _framing

            globals()[name] = found = getattr(_framing, name)
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "MAX_BODY",
    "MAX_HEAD",
    "MAX_MESSAGE",
    "Buffer",
    "ByteStream",
    "Call",
    "Calling",
    "Channel",
    "CloseReason",
    "ConnectionPool",
    "Exchange",
    "Framing",
    "Handler",
    "HttpTunnel",
    "IncomingResponse",
    "ReloadingTLS",
    "RequestRefused",
    "Response",
    "ResponseHead",
    "ServerConnection",
    "Session",
    "Sessions",
    "SocksTunnel",
    "Tls",
    "Tunnel",
    "Upgrade",
    "WebSocketStream",
    "accept_upgrade",
    "addressed",
    "may_replay",
    "named",
    "open_tunnel",
    "pool",
    "serve_requests",
    "tunnel",
    "upgrade",
]
