"""The client: its verbs, sent and awaited, and how it is connected."""

from ._client import Client
from ._connect import ConnectOptions, connect
from ._verbs import BoundApi, BoundSubresource as BoundSubresource, BoundTables as BoundTables

__all__ = ["BoundApi", "Client", "ConnectOptions", "connect"]
