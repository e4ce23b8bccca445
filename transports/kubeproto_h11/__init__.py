"""HTTP/1.1 and WebSockets without any I/O: the client's exchange and pool, the server's connection.

A transport brings a `Line`, a clock and a signal of its event loop; `Calling` does the rest. A server brings
a `Channel` and a handler; `serve_requests` does the rest.
"""

from ._calls import Call, Calling, Incoming
from ._exchange import MAX_HEAD, Answer, Exchange
from ._framing import MAX_MESSAGE, Farewell, Framing
from ._lending import Lending
from ._lines import Line, dig
from ._pool import (
    Action,
    Asked,
    Close,
    Ended,
    Ending,
    Event,
    Idle,
    Left,
    Limits,
    Lost,
    Open,
    Pool,
    Refuse,
    Released,
    State,
    Use,
    Waiting,
    step,
)
from ._replays import may_replay
from ._requests import addressed, named
from ._server import MAX_BODY, RequestRefused, ServerConnection
from ._serving import Channel, Handler, Response, serve_requests
from ._sessions import Buffer, Session, Sessions, Tls
from ._trust import Trust
from ._tunnels import HttpTunnel, SocksTunnel, Tunnel, tunnel
from ._upgrades import Upgrade, upgrade
from ._websockets import WebSocket

__all__ = [
    "MAX_BODY",
    "MAX_HEAD",
    "MAX_MESSAGE",
    "Action",
    "Answer",
    "Asked",
    "Buffer",
    "Call",
    "Calling",
    "Channel",
    "Close",
    "Ended",
    "Ending",
    "Event",
    "Exchange",
    "Farewell",
    "Framing",
    "Handler",
    "HttpTunnel",
    "Idle",
    "Incoming",
    "Left",
    "Lending",
    "Limits",
    "Line",
    "Lost",
    "Open",
    "Pool",
    "Refuse",
    "Released",
    "RequestRefused",
    "Response",
    "ServerConnection",
    "Session",
    "Sessions",
    "SocksTunnel",
    "State",
    "Tls",
    "Trust",
    "Tunnel",
    "Upgrade",
    "Use",
    "Waiting",
    "WebSocket",
    "addressed",
    "dig",
    "may_replay",
    "named",
    "serve_requests",
    "step",
    "tunnel",
    "upgrade",
]
