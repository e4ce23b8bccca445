"""One controller at work: sources of keys, workers, contexts, and what is counted."""

from ._context import Context
from ._plans import ReconcileTimeout, Result, Terminal

__all__ = ["Context", "ReconcileTimeout", "Result", "Terminal"]
