"""Caches of kinds that follow the server: stores, indexes, views and subscriptions."""
