"""The parts of a controller: the Store that caches a kind, the work queue, elections, Events, finalizers."""

from .._pacing import Rate
from . import certificates, election, finalizers
from ._actions import Action, AwaitChange, Requeue, await_change, requeue
from ._changes import CachedObject, Change
from ._conditions import (
    ConditionLike,
    find_condition,
    is_controlled_by,
    is_true,
    owner_reference,
    remove_condition,
    set_condition,
    status_differs,
)
from ._own_writes import OwnWrites
from ._queue import LATEST, LOW, WorkQueue
from ._queue_backoff import AtMost, Exponential, FastThenSlow, Longest, QueueBackoff
from ._queue_metrics import Histogram, QueueMetrics
from ._queue_states import Work
from ._recorder import CreateEvent, EventRequest, PatchEvent, Recorder
from ._store import Store, StoreFull, key_of
from ._transforms import drop_managed_fields
from ._written_objects import (
    CacheScope,
    OwnWrite,
    follows,
    is_lost,
    is_shown,
    own_absence,
    own_write,
    will_show,
)

__all__ = [
    "LATEST",
    "LOW",
    "Action",
    "AtMost",
    "AwaitChange",
    "CacheScope",
    "CachedObject",
    "Change",
    "ConditionLike",
    "CreateEvent",
    "EventRequest",
    "Exponential",
    "FastThenSlow",
    "Histogram",
    "Longest",
    "OwnWrite",
    "OwnWrites",
    "PatchEvent",
    "QueueBackoff",
    "QueueMetrics",
    "Rate",
    "Recorder",
    "Requeue",
    "Store",
    "StoreFull",
    "Work",
    "WorkQueue",
    "await_change",
    "certificates",
    "drop_managed_fields",
    "election",
    "finalizers",
    "find_condition",
    "follows",
    "is_controlled_by",
    "is_lost",
    "is_shown",
    "is_true",
    "key_of",
    "own_absence",
    "own_write",
    "owner_reference",
    "remove_condition",
    "requeue",
    "set_condition",
    "status_differs",
    "will_show",
]
