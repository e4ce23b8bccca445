"""The client: its verbs, sent and awaited, and how it is connected."""

from ._client import Client
from ._connect import connect
from ._verbs import BoundApi

__all__ = ["BoundApi", "Client", "connect"]
