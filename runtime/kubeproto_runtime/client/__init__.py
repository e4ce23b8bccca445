"""The client: its verbs, sent and awaited, and how it is connected."""

from ._client import Client
from ._connect import ConnectOptions, connect
from ._verbs import BoundApi, BoundSubresource, BoundTables

__all__ = ["BoundApi", "BoundSubresource", "BoundTables", "Client", "ConnectOptions", "connect"]
