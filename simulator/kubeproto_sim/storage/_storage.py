"""The objects that are stored, as JSON bytes under one global version, and a window of the latest events.

A version is an integer that each write to any kind raises by one. Each kind has a `ResourceStorage`: its
objects as they are now, and its latest events. Any version inside the window can be read again by undoing the
events after it, so a snapshot costs nothing until it is read.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final, Literal

from msgspec import Struct

Change = Literal["ADDED", "MODIFIED", "DELETED"]

# Events that are kept of each kind. A real watch cache holds between 100 and 102,400, as many as 75 s need.
WINDOW: Final = 10_000


class Stored(Struct, gc=False):
    """One stored object. `labels` and `owners` are kept beside the bytes because they are read often."""

    key: str
    namespace: str
    name: str
    uid: str
    version: int
    data: bytes
    labels: dict[str, str] | None = None
    owners: tuple[str, ...] = ()


def make_stored(key: str, obj: dict[str, Any], version: int, data: bytes) -> Stored:
    """Return an object with its bytes as it is stored."""
    meta = obj["metadata"]
    owners = meta.get("ownerReferences")
    return Stored(
        key, meta.get("namespace", ""), meta["name"], meta["uid"], version, data, meta.get("labels"),
        tuple(owner["uid"] for owner in owners) if owners else (),
    )  # fmt: skip


class StoredEvent(Struct, gc=False):
    """One change. A deletion holds the last content, at the version of the deletion."""

    change: Change
    stored: Stored
    before: Stored | None

    @property
    def version(self) -> int:
        """The global version that this change made."""
        return self.stored.version


class VersionExpired(Exception):
    """The history of a version has been forgotten."""


class ResourceStorage:
    """The objects of one kind and their latest events, which are numbered from the first."""

    def __init__(self, name: str, window: int) -> None:
        self.name = name
        self.window = window
        self.objects: dict[str, Stored] = {}
        self.events: list[StoredEvent] = []
        # Lines of the latest events as watches send them, by the number of the first and the namespace: the
        # next event makes them useless.
        self.lines: dict[tuple[int, str], bytes] = {}
        self.first = 0  # the number of events[0]
        self.compacted = 0  # the version up to which events are forgotten
        self.generation = 0  # grows when all watches must end: another schema, a deleted definition
        self._sorted: list[str] | None = []

    @property
    def end(self) -> int:
        """The number that the next event will have."""
        return self.first + len(self.events)

    def in_order(self) -> list[str]:
        """Return all keys in order. They are sorted on demand, so loading many objects sorts once."""
        if self._sorted is None:
            self._sorted = sorted(self.objects)
        return self._sorted

    def forget_order(self) -> None:
        """Sort again on the next `in_order`: objects have been put in directly."""
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
        # Several at a time: removing the first of a long list moves all others.
        if len(self.events) > self.window + self.window // 16 + 16:
            self._forget(len(self.events) - self.window)

    def compact(self, version: int) -> None:
        """Forget the events up to `version`. That version and later ones can still be read."""
        if version > self.compacted:
            self._forget(bisect_right(self.events, version, key=_version_of))
            self.compacted = version

    def since(self, version: int) -> int:
        """The number of the first event after `version`; or `VersionExpired`."""
        if version < self.compacted:
            raise VersionExpired
        return self.first + bisect_right(self.events, version, key=_version_of)

    def at(self, version: int) -> dict[str, Stored]:
        """All objects as they were at `version`; or `VersionExpired`."""
        start = self.since(version) - self.first
        if start == len(self.events):
            return self.objects
        objects = dict(self.objects)
        for event in reversed(self.events[start:]):
            if event.before is None:
                del objects[event.stored.key]
            else:
                objects[event.stored.key] = event.before
        return objects

    def copy(self) -> ResourceStorage:
        """Return an independent copy."""
        twin = ResourceStorage(self.name, self.window)
        twin.objects, twin.events = dict(self.objects), list(self.events)
        twin.first, twin.compacted, twin.generation = self.first, self.compacted, self.generation
        twin._sorted = None if self._sorted is None else list(self._sorted)
        return twin

    def _forget(self, count: int) -> None:
        if count:
            self.compacted = self.events[count - 1].version
            self.first += count
            del self.events[:count]


class Storage:
    """The storage of all kinds, and the version that they share."""

    def __init__(self, window: int = WINDOW) -> None:
        self.version = 0
        self.compacted = 0
        self.window = window
        self.resources: dict[str, ResourceStorage] = {}

    def resource(self, name: str) -> ResourceStorage:
        """Return the storage of one kind, by the name of its resource; a new one has no history."""
        found = self.resources.get(name)
        if found is None:
            found = self.resources[name] = ResourceStorage(name, self.window)
            found.compacted = self.compacted
        return found

    def commit(self, storage: ResourceStorage, stored: Stored) -> StoredEvent:
        """Store an object that was made for the next version."""
        before = storage.objects.get(stored.key)
        event = StoredEvent("MODIFIED" if before else "ADDED", stored, before)
        self._advance(stored)
        storage.put(event)
        return event

    def remove(self, storage: ResourceStorage, stored: Stored) -> StoredEvent:
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

    def _advance(self, stored: Stored) -> None:
        if stored.version != self.version + 1:
            raise ValueError(f"version {stored.version} cannot follow {self.version}")
        self.version = stored.version


def _version_of(event: StoredEvent) -> int:
    return event.stored.version
