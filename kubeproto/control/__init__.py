"""What a controller stands on: the Store that mirrors a kind, and the queue of what to work on."""

from ._actions import Action, AwaitChange, Requeue, await_change, requeue
from ._changes import Change, Entry
from ._queue import LATEST, LOW, Work, WorkQueue
from ._queue_backoff import AtMost, Backoff, Exponential, FastThenSlow, Longest, Rate
from ._queue_metrics import Histogram, QueueMetrics
from ._store import Store, key_of

__all__ = [
    "LATEST",
    "LOW",
    "Action",
    "AtMost",
    "AwaitChange",
    "Backoff",
    "Change",
    "Entry",
    "Exponential",
    "FastThenSlow",
    "Histogram",
    "Longest",
    "QueueMetrics",
    "Rate",
    "Requeue",
    "Store",
    "Work",
    "WorkQueue",
    "await_change",
    "key_of",
    "requeue",
]
