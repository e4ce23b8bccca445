"""The content of a cluster as a value, which can be kept and loaded into another cluster.

A snapshot has the objects and what the next write depends on (version, time, randomness). It has no history:
a restarted server has none either, and responds to watches from before the restart with 410.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from .kinds._kinds import Kinds
from .storage._storage import ResourceStorage, Storage, StoredEvent, make_stored

if TYPE_CHECKING:
    from ._state import ServerState


class StoredObject(Struct, frozen=True):
    """One object under the name of its resource and its key; without data, a deletion."""

    resource: str
    key: str
    version: int
    data: bytes | None


class Snapshot(Struct, frozen=True, kw_only=True):
    """Everything that is stored in a cluster at one version."""

    version: int
    time: float
    seed: int
    objects: list[StoredObject]


def change_of(storage: ResourceStorage, event: StoredEvent) -> StoredObject:
    """Return a change as a journal keeps it."""
    stored = event.stored
    data = None if event.change == "DELETED" else stored.data
    return StoredObject(storage.name, stored.key, stored.version, data)


def take_snapshot(state: ServerState) -> Snapshot:
    """Return everything that is stored, in the order of the writes."""
    found = [
        StoredObject(storage.name, stored.key, stored.version, stored.data)
        for storage in state.storage.resources.values()
        for stored in storage.objects.values()
    ]
    found.sort(key=lambda one: one.version)
    return Snapshot(version=state.storage.version, time=state.clock.time, seed=state.rng.state, objects=found)


def load_snapshot(state: ServerState, snapshot: Snapshot) -> None:
    """Replace what is stored. The controllers of the cluster have to be created again afterwards."""
    storage = Storage(state.storage.window)
    for one in snapshot.objects:
        if one.data is None:
            continue
        obj: dict[str, Any] = msgspec.json.decode(one.data)
        stored = make_stored(one.key, obj, one.version, one.data)
        resource = storage.resource(one.resource)
        resource.objects[one.key] = stored
        resource.forget_order()
    storage.version = snapshot.version
    storage.compact()
    state.storage, state.kinds = storage, Kinds(storage, state.release)
    state.clock.time = max(state.clock.time, snapshot.time)
    state.rng.state = snapshot.seed
    state.terminating, state.closing, state.quotas = set(), set(), {}
