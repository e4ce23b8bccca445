"""Writes of the server's own: what its controllers do to objects, without a client's rules or its traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .._state import ServerState
from ..kinds._kinds import Served
from ..storage._storage import Stored
from ._writes import make_stored


def edit(
    world: ServerState, served: Served, stored: Stored, change: Callable[[dict[str, Any]], None]
) -> None:
    """Change an object in place. If that ends the wait of its deletion, it is removed."""
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    change(obj)
    put(world, served, stored.key, obj)
    meta = obj["metadata"]
    if meta.get("deletionTimestamp") and not meta.get("finalizers") and not meta.get(
        "deletionGracePeriodSeconds"
    ):  # fmt: skip
        if served.full_name == "namespaces" and obj.get("spec", {}).get("finalizers"):
            return
        remove(world, served, served.shelf.objects[stored.key])


def put(world: ServerState, served: Served, key: str, obj: dict[str, Any]) -> Stored:
    """Store an object as it is."""
    version = world.storage.version + 1
    obj["metadata"]["resourceVersion"] = str(version)
    stored = make_stored(key, obj, version, served.again(obj))
    world.commit(served.shelf, stored)
    return stored


def remove(world: ServerState, served: Served, stored: Stored) -> None:
    """Take an object away, whatever waits for it."""
    version = world.storage.version + 1
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    obj["metadata"]["resourceVersion"] = str(version)
    world.remove(served.shelf, make_stored(stored.key, obj, version, served.again(obj)))
