"""HTTP/1.1 and WebSockets for transports, without any I/O: an exchange, a pool, and what drives them.

A door brings a `Line`, a clock and a signal of its event loop; `Calling` does the rest.
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
from ._sessions import Buffer, Session, Sessions, Tls
from ._trust import Trust
from ._tunnels import HttpTunnel, SocksTunnel, Tunnel, tunnel
from ._upgrades import Upgrade, upgrade
from ._websockets import WebSocket

__all__ = [
    "MAX_HEAD",
    "MAX_MESSAGE",
    "Action",
    "Answer",
    "Asked",
    "Buffer",
    "Call",
    "Calling",
    "Close",
    "Ended",
    "Ending",
    "Event",
    "Exchange",
    "Farewell",
    "Framing",
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
    "step",
    "tunnel",
    "upgrade",
]
