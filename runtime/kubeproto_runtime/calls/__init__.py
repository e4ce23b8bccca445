"""One call of a client: admission at its rate, attempts, limits, and the effects that drivers perform."""

from ._base_client import BaseClient, Streamed
from ._blocking_base_client import BlockingBaseClient, BlockingStreamed
from ._bodies import BodyLimits
from ._discovery import KindNotServed
from ._kinds import UnknownKind
from ._outgoing import LeaseLost

__all__ = [
    "BaseClient",
    "BlockingBaseClient",
    "BlockingStreamed",
    "BodyLimits",
    "KindNotServed",
    "LeaseLost",
    "Streamed",
    "UnknownKind",
]
