"""Feed bytes, get events; lists and the machine that keeps a mirror in step with the server."""

from . import _pager as pager
from . import _resync as resync
from ._decoder import WatchDecoder
from ._events import Added, Bookmark, Deleted, Failed, Malformed, Modified, Unknown, WatchEvent
from ._lines import MAX_LINE
from ._pages import ListDecoder, read_page

__all__ = [
    "MAX_LINE",
    "Added",
    "Bookmark",
    "Deleted",
    "Failed",
    "ListDecoder",
    "Malformed",
    "Modified",
    "Unknown",
    "WatchDecoder",
    "WatchEvent",
    "pager",
    "read_page",
    "resync",
]
