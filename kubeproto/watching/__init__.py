"""Feed bytes, get events; lists and the machine that keeps a mirror in step with the server."""

from ._decoder import WatchDecoder
from ._events import Added, Bookmark, Deleted, Failed, Malformed, Modified, Unknown, WatchEvent

__all__ = [
    "Added",
    "Bookmark",
    "Deleted",
    "Failed",
    "Malformed",
    "Modified",
    "Unknown",
    "WatchDecoder",
    "WatchEvent",
]
