"""Writes that begin with a read: entries, statuses, and manifests that are applied in order."""
