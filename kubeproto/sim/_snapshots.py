"""What a cluster holds, as values: taken from one, kept by somebody else, and put into another.

A snapshot has the objects and what the next write depends on (version, time, randomness). It has no history:
a server that was restarted has none either, and watches from before it are told that their version is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from .controllers._definitions import SHELF
from .kinds._kinds import Kinds
from .storage._storage import ResourceStorage, Storage, StoredEvent
from .writing._writes import make_stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._state import ServerState
    from .controllers._definitions import Definitions


class StoredObject(Struct, frozen=True):
    """One object under the name of its resource and its key; without data, its deletion."""

    resource: str
    key: str
    version: int
    data: bytes | None


class Snapshot(Struct, frozen=True, kw_only=True):
    """All that is stored in a cluster at one version."""

    version: int
    time: float
    seed: int
    objects: list[StoredObject]


def change_of(shelf: ResourceStorage, event: StoredEvent) -> StoredObject:
    """A change as a journal keeps it."""
    stored = event.stored
    data = None if event.change == "DELETED" else stored.data
    return StoredObject(shelf.name, stored.key, stored.version, data)


def take_snapshot(world: ServerState) -> Snapshot:
    """Return everything that is stored, in the order in which it was written."""
    found = [
        StoredObject(shelf.name, stored.key, stored.version, stored.data)
        for shelf in world.storage.shelves.values()
        for stored in shelf.objects.values()
    ]
    found.sort(key=lambda one: one.version)
    return Snapshot(
        version=world.storage.version, time=world.clock.time, seed=world.chance.state, objects=found
    )


def load_snapshot(world: ServerState, snapshot: Snapshot) -> None:
    """Replace what is stored. The controllers of the cluster have to be made anew after it."""
    storage = Storage(world.storage.window)
    for one in snapshot.objects:
        if one.data is None:
            continue
        obj: dict[str, Any] = msgspec.json.decode(one.data)
        stored = make_stored(one.key, obj, one.version, one.data)
        shelf = storage.shelf(one.resource)
        shelf.objects[one.key] = stored
        shelf.forget_order()
    storage.version = snapshot.version
    storage.compact()
    world.storage, world.kinds = storage, Kinds(storage)
    world.clock.time = max(world.clock.time, snapshot.time)
    world.chance.state = snapshot.seed
    world.terminating, world.closing = set(), set()


class ClusterController(Protocol):
    """A part of the cluster that follows what is stored, and works on it when it is asked."""

    def told(self, shelf: ResourceStorage, event: StoredEvent) -> None:
        """Note a change."""
        ...

    def work(self) -> bool:
        """Do what has come up; whether there was anything."""
        ...


def resume(world: ServerState, definitions: Definitions, followers: Iterable[ClusterController]) -> None:
    """Let new controllers know what is stored: definitions first, for they bring kinds."""
    followers = tuple(followers)
    for stored in list(world.storage.shelf(SHELF).objects.values()):
        definitions.resume(stored)
    for shelf in list(world.storage.shelves.values()):
        for stored in list(shelf.objects.values()):
            for follower in followers:
                follower.told(shelf, StoredEvent("ADDED", stored, None))
