"""Writes of several requests: entries, statuses, manifests, draining and migrating."""

from ._applying import Applied, ApplyError, apply_manifests
from ._draining import Drained, DrainError, decide_eviction as decide_eviction
from ._entry import BlockingEntry, Entry
from ._migrating import Migration, MigrationError

__all__ = [
    "Applied",
    "ApplyError",
    "BlockingEntry",
    "DrainError",
    "Drained",
    "Entry",
    "Migration",
    "MigrationError",
    "apply_manifests",
]
