"""Caches of kinds that follow the server, with indexes and views."""

from ._caches import Cache, Caches

__all__ = ["Cache", "Caches"]
