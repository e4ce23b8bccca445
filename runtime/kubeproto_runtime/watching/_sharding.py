"""Filters the objects of a shard.

A server without support for sharding ignores the selector and sends all objects, and during an upgrade only
some servers behind an address support it. So the client always checks objects too. That takes some
microseconds per object; without the check each object would be delivered to every shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubeproto import Added, Deleted, KubeObject, Malformed, Modified
from kubeproto.requests import Shard


def shard_of(selection: Mapping[str, Any]) -> Shard | None:
    """Return the shard of a selection; None without a shard selector."""
    shard = selection.get("shard_selector") or None
    return Shard.parse(shard) if isinstance(shard, str) else shard


def in_shard(shard: Shard, items: list[Any]) -> list[Any]:
    """Return the objects and events of the shard, and the events without an object."""
    return [item for item in items if (metadata := _metadata(item)) is None or shard.contains(metadata)]


def _metadata(item: Any) -> Any:
    event = item  # `match` would narrow `item` to an event of an unknown kind
    match item:
        case Added() | Modified() | Deleted():
            return event.object.metadata
        case KubeObject():
            return item.metadata
        case Malformed(metadata=metadata) if metadata is not None and metadata.uid:
            return metadata
        case _:
            return None
