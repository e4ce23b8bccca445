"""The client for threads and scripts, over a blocking transport."""

from ._authorized import BlockingAuthorized
from ._client import BlockingClient
from ._connect import connect_blocking
from ._reflector import BlockingReflector
from ._resync_driver import BlockingResyncDriver
from ._verbs import BlockingApi, BlockingSubresource, BlockingTables
from ._watch import BlockingFollowed

__all__ = [
    "BlockingApi",
    "BlockingAuthorized",
    "BlockingClient",
    "BlockingFollowed",
    "BlockingReflector",
    "BlockingResyncDriver",
    "BlockingSubresource",
    "BlockingTables",
    "connect_blocking",
]
