"""Lists and watches: pages, the driver of the resync machine, and waiting for the state of an object."""

from ._followed import Followed, Told
from ._pages import BlockingItems, BlockingPages, Items, ListPages
from ._resync_driver import ResyncDriver
from ._sinks import Sink
from ._waiting import WaitTimeout

__all__ = [
    "BlockingItems",
    "BlockingPages",
    "Followed",
    "Items",
    "ListPages",
    "ResyncDriver",
    "Sink",
    "Told",
    "WaitTimeout",
]
