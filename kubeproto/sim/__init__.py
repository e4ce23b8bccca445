"""A Kubernetes API server as a pure machine: requests in, answers out, on a virtual clock."""

from ._clocks import DriftingClock
from ._cluster import Cluster, Exchange
from ._faults import (
    Cut,
    Delay,
    Disagree,
    Empty,
    ErrorEvent,
    Expel,
    Expire,
    Fail,
    Fault,
    Faults,
    HalfOpen,
    Html,
    Lag,
    Lose,
    Refuse,
    TooLarge,
    TooManyRequests,
)
from ._refusals import Refused
from ._server import Answer
from ._snapshots import Snapshot, StoredObject
from ._streams import Stream
from ._transports import BlockingSimTransport, Receiving, SimTransport
from ._watches import Watch
from ._world import Modes

__all__ = [
    "Answer",
    "BlockingSimTransport",
    "Cluster",
    "Cut",
    "Delay",
    "Disagree",
    "DriftingClock",
    "Empty",
    "ErrorEvent",
    "Exchange",
    "Expel",
    "Expire",
    "Fail",
    "Fault",
    "Faults",
    "HalfOpen",
    "Html",
    "Lag",
    "Lose",
    "Modes",
    "Receiving",
    "Refuse",
    "Refused",
    "SimTransport",
    "Snapshot",
    "StoredObject",
    "Stream",
    "TooLarge",
    "TooManyRequests",
    "Watch",
]
