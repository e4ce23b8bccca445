"""The parts of a controller: the Store that caches a kind, the work queue, elections, Events, finalizers."""

from .._pacing import ExponentialBackoff as ExponentialBackoff, Rate
from . import certificates, election, finalizers
from ._actions import Action, await_change, requeue
from ._cached_objects import CachedObject, Change
from ._event_recorder import CreateEvent as CreateEvent, PatchEvent as PatchEvent, Recorder
from ._own_writes import OwnWrites
from ._owner_references import is_controlled_by, owner_reference
from ._queue import LOW_PRIORITY as LOW_PRIORITY, QueueBackoff as QueueBackoff, WorkQueue
from ._queue_metrics import Histogram as Histogram, QueueMetrics as QueueMetrics
from ._queued_keys import Work
from ._status_conditions import set_condition
from ._store import Store, StoreFull, key_of as key_of
from ._transforms import drop_managed_fields as drop_managed_fields
from ._written_objects import CacheScope as CacheScope, OwnWrite

__all__ = [
    "Action",
    "CachedObject",
    "Change",
    "OwnWrite",
    "OwnWrites",
    "Rate",
    "Recorder",
    "Store",
    "StoreFull",
    "Work",
    "WorkQueue",
    "await_change",
    "certificates",
    "election",
    "finalizers",
    "is_controlled_by",
    "owner_reference",
    "requeue",
    "set_condition",
]
