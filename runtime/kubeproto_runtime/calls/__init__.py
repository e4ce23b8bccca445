"""One call of a client: admission at its rate, attempts, limits, and the effects that drivers perform."""

from ._bodies import BodyLimits
from ._discovery import KindNotServed
from ._kinds import UnknownKind
from ._metered import LeaseLost

__all__ = ["BodyLimits", "KindNotServed", "LeaseLost", "UnknownKind"]
