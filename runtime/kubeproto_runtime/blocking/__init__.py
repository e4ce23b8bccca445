"""The client for threads and scripts, over a blocking transport."""

from ._blocking_authorized_transport import BlockingAuthorizedTransport as BlockingAuthorizedTransport
from ._blocking_client import BlockingClient
from ._blocking_connect import connect_blocking
from ._blocking_follow_stream import BlockingFollowStream as BlockingFollowStream
from ._blocking_reflector import BlockingReflector as BlockingReflector
from ._blocking_resync_driver import BlockingResyncDriver as BlockingResyncDriver
from ._blocking_verbs import (
    BlockingApi,
    BlockingSubresource as BlockingSubresource,
    BlockingTables as BlockingTables,
)

__all__ = [
    "BlockingApi",
    "BlockingClient",
    "connect_blocking",
]
