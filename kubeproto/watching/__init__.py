"""Watches and lists as events: feed bytes, get events; and the machine that keeps a cache in sync."""

from typing import TYPE_CHECKING

from .. import _deferred
from ..objects._shared import Malformed
from ._decoder import WatchDecoder as WatchDecoder
from ._item_reader import read_page as read_page
from ._line_buffer import MAX_LINE as MAX_LINE
from ._list_decoder import ListDecoder as ListDecoder
from ._watch_events import Added, Bookmark, Deleted, Modified, Unknown, WatchEvent, WatchFailed

if TYPE_CHECKING:
    from . import log_tail, pager, resync
    from ._recordings import RecordedEvent, RecordingHead, WatchRecording, read_recording
else:
    # The machines take longer to import than everything else here, and a program that reads one watch needs
    # none.
    __getattr__, __dir__ = _deferred.attributes(
        __name__,
        {
            "RecordedEvent": "_recordings",
            "RecordingHead": "_recordings",
            "WatchRecording": "_recordings",
            "log_tail": "log_tail",
            "pager": "pager",
            "read_recording": "_recordings",
            "resync": "resync",
        },
    )


__all__ = [
    "Added",
    "Bookmark",
    "Deleted",
    "Malformed",
    "Modified",
    "RecordedEvent",
    "RecordingHead",
    "Unknown",
    "WatchEvent",
    "WatchFailed",
    "WatchRecording",
    "log_tail",
    "pager",
    "read_recording",
    "resync",
]
