"""Writes that take several requests: entries, statuses, manifests, draining and migrating."""

from ._applying import ApplyError, ApplyResult, apply_manifests
from ._draining import DrainError, DrainResult, decide_eviction as decide_eviction
from ._entry import BlockingEntry, Entry
from ._migrating import Migration, MigrationError

__all__ = [
    "ApplyError",
    "ApplyResult",
    "BlockingEntry",
    "DrainError",
    "DrainResult",
    "Entry",
    "Migration",
    "MigrationError",
    "apply_manifests",
]
