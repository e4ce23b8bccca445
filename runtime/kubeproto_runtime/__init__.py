"""The controller runtime: clients, caches and controllers on asyncio and on trio."""

from ._client import Client, Streamed
from ._verbs import BoundApi

__all__ = ["BoundApi", "Client", "Streamed"]
