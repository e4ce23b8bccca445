"""A Kubernetes API server as a pure machine: requests in, responses out, on a virtual clock."""

from ._clocks import DriftingClock
from ._cluster import Cluster, RecordedExchange
from ._refusals import Rejection
from ._snapshots import Snapshot, StoredObject
from ._state import Modes
from ._streams import Stream
from ._transports import BlockingSimTransport, Receiving, SimTransport
from .access._users import User
from .admission._calls import PendingCalls, WebhookCall, WebhookError, WebhookReply, Webhooks
from .faults._faults import (
    Cut,
    Delay,
    Empty,
    ErrorEvent,
    Expire,
    ExpireCredentials,
    Fail,
    Fault,
    Faults,
    ForceConflict,
    FutureVersion,
    HalfOpen,
    Html,
    Lag,
    LoseResponse,
    RefuseConnection,
    Throttle,
)
from .reading._watches import Watch
from .serving._messages import ServerResponse

__all__ = [
    "BlockingSimTransport",
    "Cluster",
    "Cut",
    "Delay",
    "DriftingClock",
    "Empty",
    "ErrorEvent",
    "Expire",
    "ExpireCredentials",
    "Fail",
    "Fault",
    "Faults",
    "ForceConflict",
    "FutureVersion",
    "HalfOpen",
    "Html",
    "Lag",
    "LoseResponse",
    "Modes",
    "PendingCalls",
    "Receiving",
    "RecordedExchange",
    "RefuseConnection",
    "Rejection",
    "ServerResponse",
    "SimTransport",
    "Snapshot",
    "StoredObject",
    "Stream",
    "Throttle",
    "User",
    "Watch",
    "WebhookCall",
    "WebhookError",
    "WebhookReply",
    "Webhooks",
]
