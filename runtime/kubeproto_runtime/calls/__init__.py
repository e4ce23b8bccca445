"""One call of a client: admission at its rate, attempts, limits, and the effects that drivers perform."""

from ._blocking_caller import BlockingCaller, BlockingStreamed
from ._bodies import BodyLimits
from ._caller import Caller, Streamed
from ._discovery import KindNotServed
from ._kinds import UnknownKind
from ._metered import LeaseLost

__all__ = [
    "BlockingCaller",
    "BlockingStreamed",
    "BodyLimits",
    "Caller",
    "KindNotServed",
    "LeaseLost",
    "Streamed",
    "UnknownKind",
]
