"""`Storage`: the objects of all kinds, as JSON bytes under a global version, and their latest events.

A version is an integer that each write to any kind increments. Each kind has a `ResourceStorage`: its
current objects, and its latest events. Any version inside the window can be read by undoing the events after
it, so a snapshot costs nothing until it is read.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final, Literal

from msgspec import Struct

Change = Literal["ADDED", "MODIFIED", "DELETED"]

# The number of events of each kind. A real watch cache holds the events of 75 s: between 100 and 102,400.
WINDOW: Final = 10_000


class StoredRecord(Struct, gc=False):
    """A stored object. `labels` and `owners` are also fields because they are read often."""

    key: str
    namespace: str
    name: str
    uid: str
    version: int
    data: bytes
    labels: dict[str, str] | None = None
    owners: tuple[str, ...] = ()


def make_record(key: str, obj: dict[str, Any], version: int, data: bytes) -> StoredRecord:
    """Return the stored form of an object, whose bytes are `data`."""
    meta = obj["metadata"]
    owners = meta.get("ownerReferences")
    return StoredRecord(
        key, meta.get("namespace", ""), meta["name"], meta["uid"], version, data, meta.get("labels"),
        tuple(owner["uid"] for owner in owners) if owners else (),
    )  # fmt: skip


class StoredEvent(Struct, gc=False):
    """A change. A deletion contains the last content, at the version of the deletion."""

    change: Change
    stored: StoredRecord
    previous: StoredRecord | None

    @property
    def version(self) -> int:
        """The global version of this change."""
        return self.stored.version


class VersionExpired(Exception):
    """The history of a version has been compacted."""


class ResourceStorage:
    """The objects of a kind and their latest events, which are numbered from 0."""

    def __init__(self, name: str, window: int) -> None:
        self.name = name
        self.window = window
        self.objects: dict[str, StoredRecord] = {}
        self.events: list[StoredEvent] = []
        # The lines in which watches send the latest events, by the number of the first event and the
        # namespace; the next event removes them.
        self.lines: dict[tuple[int, str], bytes] = {}
        self.first_number = 0  # the number of events[0]
        self.compacted = 0  # the version up to which events are forgotten
        self.generation = 0  # grows when all watches must end: on a new schema or a deleted definition
        self._sorted: list[str] | None = []

    @property
    def end(self) -> int:
        """The number of the next event."""
        return self.first_number + len(self.events)

    def sorted_keys(self) -> list[str]:
        """Return all keys in order. They are sorted on demand, so loading many objects sorts once."""
        if self._sorted is None:
            self._sorted = sorted(self.objects)
        return self._sorted

    def forget_order(self) -> None:
        """Sort again on the next `in_order`, because objects were added directly."""
        self._sorted = None

    def put(self, event: StoredEvent) -> None:
        """Apply an event."""
        stored = event.stored
        if event.change == "DELETED":
            del self.objects[stored.key]
            self._sorted = None
        else:
            if event.change == "ADDED":
                self._sorted = None
            self.objects[stored.key] = stored
        self.events.append(event)
        if self.lines:
            self.lines.clear()
        # Removed in batches: the removal of the first element of a long list moves all others.
        if len(self.events) > self.window + self.window // 16 + 16:
            self._forget(len(self.events) - self.window)

    def compact(self, version: int) -> None:
        """Forget the events up to `version`. That version and later versions can still be read."""
        if version > self.compacted:
            self._forget(bisect_right(self.events, version, key=_version_of))
            self.compacted = version

    def number_after(self, version: int) -> int:
        """Return the number of the first event after `version`.

        Raise `VersionExpired` if it was compacted.
        """
        if version < self.compacted:
            raise VersionExpired
        return self.first_number + bisect_right(self.events, version, key=_version_of)

    def objects_at(self, version: int) -> dict[str, StoredRecord]:
        """Return all objects as they were at `version`; raise `VersionExpired` if it was compacted."""
        start = self.number_after(version) - self.first_number
        if start == len(self.events):
            return self.objects
        objects = dict(self.objects)
        for event in reversed(self.events[start:]):
            if event.previous is None:
                del objects[event.stored.key]
            else:
                objects[event.stored.key] = event.previous
        return objects

    def copy(self) -> ResourceStorage:
        """Return an independent copy."""
        twin = ResourceStorage(self.name, self.window)
        twin.objects, twin.events = dict(self.objects), list(self.events)
        twin.first_number, twin.compacted, twin.generation = (
            self.first_number,
            self.compacted,
            self.generation,
        )
        twin._sorted = None if self._sorted is None else list(self._sorted)
        return twin

    def _forget(self, count: int) -> None:
        if count:
            self.compacted = self.events[count - 1].version
            self.first_number += count
            del self.events[:count]


class Storage:
    """The storage of all kinds, and the version that they share."""

    def __init__(self, window: int = WINDOW) -> None:
        self.version = 0
        self.compacted = 0
        self.window = window
        self.resources: dict[str, ResourceStorage] = {}

    def resource(self, name: str) -> ResourceStorage:
        """Return the storage of a kind, by the name of its resource; a new storage has no history."""
        storage = self.resources.get(name)
        if storage is None:
            storage = self.resources[name] = ResourceStorage(name, self.window)
            storage.compacted = self.compacted
        return storage

    def commit(self, storage: ResourceStorage, stored: StoredRecord) -> StoredEvent:
        """Store an object that was made for the next version."""
        previous = storage.objects.get(stored.key)
        event = StoredEvent("MODIFIED" if previous else "ADDED", stored, previous)
        self._advance(stored)
        storage.put(event)
        return event

    def remove(self, storage: ResourceStorage, stored: StoredRecord) -> StoredEvent:
        """Delete an object; `stored` is its last content, made for the next version."""
        event = StoredEvent("DELETED", stored, storage.objects[stored.key])
        self._advance(stored)
        storage.put(event)
        return event

    def compact(self, version: int | None = None) -> None:
        """Forget history up to `version`, or all of it."""
        version = self.version if version is None else min(version, self.version)
        self.compacted = max(self.compacted, version)
        for storage in self.resources.values():
            storage.compact(version)

    def copy(self) -> Storage:
        """Return an independent copy, with the same content and history."""
        twin = Storage(self.window)
        twin.version, twin.compacted = self.version, self.compacted
        twin.resources = {name: storage.copy() for name, storage in self.resources.items()}
        return twin

    def _advance(self, stored: StoredRecord) -> None:
        if stored.version != self.version + 1:
            raise ValueError(f"version {stored.version} cannot follow {self.version}")
        self.version = stored.version


def _version_of(event: StoredEvent) -> int:
    return event.stored.version
