"""Lists and watches: pages, the driver of the resync machine, and waiting for the state of an object."""

from ._follow_stream import FollowEvent, FollowStream
from ._list_pages import (
    BlockingItems as BlockingItems,
    BlockingPages as BlockingPages,
    BlockingTablePages as BlockingTablePages,
    Items as Items,
    ListPages as ListPages,
    TablePages as TablePages,
)
from ._resync_driver import ResyncDriver as ResyncDriver
from ._sinks import Sink as Sink
from ._waiting import WaitTimeout

__all__ = [
    "FollowEvent",
    "FollowStream",
    "WaitTimeout",
]
