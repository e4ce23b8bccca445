"""Lists and watches: pages, the driver of the resync machine, and waiting for the state of an object."""

from ._followed import Followed, FollowEvent
from ._pages import BlockingItems, BlockingPages, BlockingTablePages, Items, ListPages, TablePages
from ._resync_driver import ResyncDriver
from ._sinks import Sink
from ._waiting import WaitTimeout

__all__ = [
    "BlockingItems",
    "BlockingPages",
    "BlockingTablePages",
    "FollowEvent",
    "Followed",
    "Items",
    "ListPages",
    "ResyncDriver",
    "Sink",
    "TablePages",
    "WaitTimeout",
]
