"""`Snapshot`: the content of a cluster as a value, which can be saved and loaded into another cluster.

It contains the objects, and the version, time and randomness that the next write uses. Like a restarted
server it has no history, so watches from before the restart get 410.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from .kinds._kind_registry import KindRegistry
from .storage._storage import ResourceStorage, Storage, StoredEvent, make_record

if TYPE_CHECKING:
    from ._state import ServerState


class StoredObject(Struct, frozen=True):
    """A stored object with its resource and its key; without data, a deletion."""

    resource: str
    key: str
    version: int
    data: bytes | None


class Snapshot(Struct, frozen=True, kw_only=True):
    """All stored objects of a cluster at one version."""

    version: int
    time: float
    seed: int
    objects: list[StoredObject]


def change_of(storage: ResourceStorage, event: StoredEvent) -> StoredObject:
    """Return a change in the form of a journal."""
    stored = event.stored
    data = None if event.change == "DELETED" else stored.data
    return StoredObject(storage.name, stored.key, stored.version, data)


def take_snapshot(state: ServerState) -> Snapshot:
    """Return all stored objects, in the order of the writes."""
    objects = [
        StoredObject(storage.name, stored.key, stored.version, stored.data)
        for storage in state.storage.resources.values()
        for stored in storage.objects.values()
    ]
    objects.sort(key=lambda obj: obj.version)
    return Snapshot(
        version=state.storage.version, time=state.clock.time, seed=state.rng.state, objects=objects
    )


def load_snapshot(state: ServerState, snapshot: Snapshot) -> None:
    """Replace all stored objects. The caller then creates the controllers of the cluster again."""
    storage = Storage(state.storage.window)
    for snapshot_object in snapshot.objects:
        if snapshot_object.data is None:
            continue
        obj: dict[str, Any] = msgspec.json.decode(snapshot_object.data)
        stored = make_record(snapshot_object.key, obj, snapshot_object.version, snapshot_object.data)
        resource = storage.resource(snapshot_object.resource)
        resource.objects[snapshot_object.key] = stored
        resource.forget_order()
    storage.version = snapshot.version
    storage.compact()
    state.storage, state.kinds = storage, KindRegistry(storage, state.release)
    state.clock.time = max(state.clock.time, snapshot.time)
    state.rng.state = snapshot.seed
    state.terminating, state.closing, state.quotas = set(), set(), {}
