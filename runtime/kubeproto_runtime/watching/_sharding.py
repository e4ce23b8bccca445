"""Keeps the objects of a shard, whatever the server sends.

A server that does not know sharding ignores the selector and sends everything, and of several servers behind
one address (an upgrade in progress) each may know it or not. So objects are always checked on this side too:
it costs some microseconds an object, where a missed check delivers each object to every shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeproto import Added, Deleted, KubeObject, Malformed, Modified
from kubeproto.requests import Shard


def shard_of(selection: Mapping[str, Any]) -> Shard | None:
    """Return the shard that a selection names, if it does."""
    shard = selection.get("shard_selector") or None
    return Shard.parse(shard) if isinstance(shard, str) else shard


def in_shard(shard: Shard, items: list[Any]) -> list[Any]:
    """Return the objects or events that belong to the shard, and the events that are about no object."""
    return [item for item in items if (metadata := _metadata(item)) is None or shard.contains(metadata)]


def _metadata(item: Any) -> Any:
    event = item  # the match narrows only `item`, to a kind that nobody knows
    match item:
        case Added() | Modified() | Deleted():
            return event.object.metadata
        case KubeObject():
            return item.metadata
        case Malformed(metadata=metadata) if metadata is not None and metadata.uid:
            return metadata
        case _:
            return None
