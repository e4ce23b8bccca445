"""What is stored, under one global version: objects as their JSON bytes, and a window of what changed.

A version is a whole number that every write anywhere raises by one. Each kind has a shelf: its objects as
they are now, and its latest events. Any version inside the window can be seen again by undoing the events
after it, so a snapshot costs nothing until somebody asks for it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Literal

from msgspec import Struct

Change = Literal["ADDED", "MODIFIED", "DELETED"]

# Events that a shelf keeps. A real watch cache holds between 100 and 102,400, as many as 75 s need.
WINDOW: Final = 10_000


class Stored(Struct, gc=False):
    """One object as it is kept. `labels` and `owners` stand beside the bytes because many ask for them."""

    key: str
    namespace: str
    name: str
    uid: str
    version: int
    data: bytes
    labels: dict[str, str] | None = None
    owners: tuple[str, ...] = ()


class StoredEvent(Struct, gc=False):
    """One change. A deletion holds the last content, at the version of the deletion.

    `lines` caches how watchers see it: encoded once, however many there are.
    """

    change: Change
    stored: Stored
    before: Stored | None
    line: bytes = b""

    @property
    def version(self) -> int:
        """The global version that this change made."""
        return self.stored.version


class VersionExpired(Exception):
    """A version that the window no longer reaches."""


class ResourceStorage:
    """The objects of one kind and their latest events, numbered from the first that ever was."""

    def __init__(self, name: str, window: int) -> None:
        self.name = name
        self.window = window
        self.objects: dict[str, Stored] = {}
        self.events: list[StoredEvent] = []
        self.first = 0  # the number of events[0]
        self.floor = 0  # the version up to which events are forgotten
        self.generation = 0  # grows when all watches must end: another schema, a definition that went
        self._sorted: list[str] | None = []

    @property
    def end(self) -> int:
        """The number that the next event will have."""
        return self.first + len(self.events)

    def in_order(self) -> list[str]:
        """All keys in order. Sorted when asked for: a load of many objects sorts once."""
        if self._sorted is None:
            self._sorted = sorted(self.objects)
        return self._sorted

    def forget_order(self) -> None:
        """Sort anew when the order is asked for next: objects have come from elsewhere."""
        self._sorted = None

    def put(self, event: StoredEvent) -> None:
        """Take a change in."""
        stored = event.stored
        if event.change == "DELETED":
            del self.objects[stored.key]
            self._sorted = None
        else:
            if event.change == "ADDED":
                self._sorted = None
            self.objects[stored.key] = stored
        self.events.append(event)
        if len(self.events) > self.window + self.window // 2 + 16:
            self._forget(len(self.events) - self.window)

    def compact(self, version: int) -> None:
        """Forget what led to `version`. It can still be seen itself, and what came after it."""
        if version > self.floor:
            self._forget(bisect_right(self.events, version, key=_version_of))
            self.floor = version

    def since(self, version: int) -> int:
        """The number of the first event after `version`; or `VersionExpired`."""
        if version < self.floor:
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
        """The same shelf, to be changed on its own from now on."""
        twin = ResourceStorage(self.name, self.window)
        twin.objects, twin.events = dict(self.objects), list(self.events)
        twin.first, twin.floor, twin.generation = self.first, self.floor, self.generation
        twin._sorted = None if self._sorted is None else list(self._sorted)
        return twin

    def _forget(self, count: int) -> None:
        if count:
            self.floor = self.events[count - 1].version
            self.first += count
            del self.events[:count]


class Storage:
    """All shelves, and the version that they share."""

    def __init__(self, window: int = WINDOW) -> None:
        self.version = 0
        self.compacted = 0
        self.window = window
        self.shelves: dict[str, ResourceStorage] = {}

    def shelf(self, name: str) -> ResourceStorage:
        """The shelf of this name; a new one knows nothing older than itself."""
        found = self.shelves.get(name)
        if found is None:
            found = self.shelves[name] = ResourceStorage(name, self.window)
            found.floor = self.compacted
        return found

    def commit(self, shelf: ResourceStorage, stored: Stored) -> StoredEvent:
        """Store an object that was made for the next version."""
        before = shelf.objects.get(stored.key)
        event = StoredEvent("MODIFIED" if before else "ADDED", stored, before)
        self._advance(stored)
        shelf.put(event)
        return event

    def remove(self, shelf: ResourceStorage, stored: Stored) -> StoredEvent:
        """Take an object away; `stored` is its last content, made for the next version."""
        event = StoredEvent("DELETED", stored, shelf.objects[stored.key])
        self._advance(stored)
        shelf.put(event)
        return event

    def compact(self, version: int | None = None) -> None:
        """Forget history up to `version`, or all of it."""
        version = self.version if version is None else min(version, self.version)
        self.compacted = max(self.compacted, version)
        for shelf in self.shelves.values():
            shelf.compact(version)

    def copy(self) -> Storage:
        """A storage with the same content and history, to be changed on its own from now on."""
        twin = Storage(self.window)
        twin.version, twin.compacted = self.version, self.compacted
        twin.shelves = {name: shelf.copy() for name, shelf in self.shelves.items()}
        return twin

    def _advance(self, stored: Stored) -> None:
        if stored.version != self.version + 1:
            raise ValueError(f"version {stored.version} cannot follow {self.version}")
        self.version = stored.version


def _version_of(event: StoredEvent) -> int:
    return event.stored.version
