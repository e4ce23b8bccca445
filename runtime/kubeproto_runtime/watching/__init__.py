"""Lists and watches: pages, the driver of the resync machine, and waiting for the state of an object."""

from ._followed import Followed, Told
from ._pages import BlockingItems, BlockingPages, Items, ListPages
from ._waiting import WaitTimeout

__all__ = [
    "BlockingItems",
    "BlockingPages",
    "Followed",
    "Items",
    "ListPages",
    "Told",
    "WaitTimeout",
]
