"""Keeps what belongs to a shard, whatever the server sends.

A server that does not know sharding ignores the selector and sends everything, and of several servers behind
one address (an upgrade in progress) each may know it or not. So objects are always checked on this side too:
it costs some microseconds an object, where a missed check delivers each object to every shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubeproto import Added, Deleted, KubeObject, Malformed, Modified
from kubeproto.requests import Shard

if TYPE_CHECKING:
    from kubeproto import ObjectMeta


def shard_of(selection: Mapping[str, Any]) -> Shard | None:
    """Return the shard that a selection names, if it does."""
    given = selection.get("shard_selector") or None
    return Shard.parse(given) if isinstance(given, str) else given


def keep(shard: Shard | None, news: list[Any]) -> list[Any]:
    """Return those objects or watch events that belong to the shard, and what belongs to no object."""
    if shard is None:
        return news
    return [one for one in news if (meta := _metadata(one)) is None or shard.holds(meta)]


def _metadata(one: Any) -> ObjectMeta | None:
    match one:
        case Added() | Modified() | Deleted():
            return _of_event(one)
        case KubeObject():
            return one.metadata
        case Malformed(metadata=found) if found is not None and found.uid:
            return found
        case _:
            return None


def _of_event(event: Any) -> ObjectMeta:
    metadata: ObjectMeta = event.object.metadata
    return metadata
