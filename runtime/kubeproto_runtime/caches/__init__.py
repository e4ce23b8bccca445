"""Caches of kinds that follow the server: stores, indexes, views and subscriptions."""

from ._caches import Cache, Caches

__all__ = ["Cache", "Caches"]
