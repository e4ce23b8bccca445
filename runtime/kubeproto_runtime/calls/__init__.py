"""The calls of clients: their rate, attempts and limits, and the effects that drivers perform."""

from ._base_client import BaseClient as BaseClient, ResponseStream as ResponseStream
from ._blocking_base_client import (
    BlockingBaseClient as BlockingBaseClient,
    BlockingResponseStream as BlockingResponseStream,
)
from ._body_limits import BodyLimits
from ._discovery import KindNotServed
from ._kinds import UnknownKind
from ._outgoing import LeaseLost

__all__ = [
    "BodyLimits",
    "KindNotServed",
    "LeaseLost",
    "UnknownKind",
]
