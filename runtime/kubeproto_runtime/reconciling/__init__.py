"""One controller at work: sources of keys, workers, contexts and metrics."""

from ._context import Context
from ._plans import ReconcileTimeout, Result, Terminal

__all__ = ["Context", "ReconcileTimeout", "Result", "Terminal"]
