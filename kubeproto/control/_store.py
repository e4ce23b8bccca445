"""`Store`: the world of one kind as bytes under keys, exact at one version, and typed when read.

    news ── apply ────────────────────────► the world, changes
    news ── stage ──► another world
                         ├── commit ──────► the world, changes
                         └── discard

Readers see the world and never the other one: a list in pages or a streaming list takes the place of the
world in one step. What a new world lacks comes out as a deletion with its last known state, and what it holds
unchanged comes out not at all.

- The truth is bytes. Each reader gets an object of its own, so none can corrupt what another one sees.
- An object costs its bytes, its key and an `Entry`, none of which the garbage collector walks, nor the
  dictionary that holds them. A new world takes over the entries that did not change.
- An object that does not fit its type is kept with the bytes it has: it exists, and a mirror without it would
  be wrong. Who reads it gets an `InvalidObject`.
- What comes is taken in the order in which it comes, also a version older than the one before; the change
  says so (`Change.went_back`).
- Indexes and subscribers live on the changes that come out, and so need no place in here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
from msgspec import Struct

from .._errors import InvalidObject, LocalProtocolError
from ..objects import KubeObject, Resource, decode, encode
from ..watching import Added, Bookmark, Deleted, Failed, Malformed, Modified, Unknown, WatchEvent
from ._changes import Change, Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

K = TypeVar("K", bound=KubeObject)


class _Identity(Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


class _Line(Struct):
    object: msgspec.Raw


def key_of(name: str, namespace: str = "") -> str:
    """The key of an object: ``namespace/name``, or the name alone where there is no namespace."""
    return f"{namespace}/{name}" if namespace else name


class Store(Generic[K]):
    """Mirrors the objects of one kind. `version` says how far it has come; "" until there is a world."""

    def __init__(self, kind: type[K]) -> None:
        self.kind = kind
        self.version = ""
        self._world: dict[str, Entry] = {}
        self._staged: dict[str, Entry] | None = None

    def apply(self, news: Iterable[WatchEvent[K]]) -> list[Change[K]]:
        """Take the events of a watch: the changes that they make."""
        world, kind = self._world, self.kind
        changes: list[Change[K]] = []
        for event in news:
            match event:
                case Added(obj) | Modified(obj):
                    key, version = _place(obj)
                    old = world.get(key)
                    if old is None or old.version != version or not version:
                        new = world[key] = Entry(version, encode(obj))
                        changes.append(Change(kind, "ADDED" if old is None else "MODIFIED", key, old, new))
                case Deleted(obj):
                    key, version = _place(obj)
                    old = world.pop(key, None)
                    if old is not None:
                        changes.append(Change(kind, "DELETED", key, old, Entry(version, encode(obj))))
                case Malformed():
                    version = self._apply_malformed(event, changes)
                case Bookmark(version):
                    pass
                case Failed() | Unknown():
                    version = ""
            self.version = version or self.version
        return changes

    def stage(self, news: Iterable[WatchEvent[K] | K]) -> None:
        """Take a part of a new world: objects of a list's page, or events of a streaming list."""
        if self._staged is None:
            self._staged = {}
        staged, world = self._staged, self._world
        for one in news:
            match one:
                case Deleted(obj):
                    staged.pop(_place(obj)[0], None)
                    continue
                case Added(obj) | Modified(obj):
                    pass
                case Malformed():
                    self._stage_malformed(one, staged)
                    continue
                case Bookmark() | Failed() | Unknown():
                    continue
                case _:
                    obj = one
            key, version = _place(obj)
            old = world.get(key)
            if old is not None and old.version == version and version:
                staged[key] = old
            else:
                staged[key] = Entry(version, encode(obj))

    def commit(self, version: str, *, replay: bool = False) -> list[Change[K]]:
        """The staged world is whole, at this version: it becomes the world. Deletions come out first.

        `replay` brings out what did not change as well.
        """
        if self._staged is None:
            raise LocalProtocolError("commit without stage: there is no other world to show")
        kind, initial = self.kind, not self.version
        before, world = self._world, self._staged
        self._world, self._staged, self.version = world, None, version
        changes = [Change(kind, "DELETED", key, old, None) for key, old in before.items() if key not in world]
        for key, new in world.items():
            old = before.get(key)
            if old is None:
                changes.append(Change(kind, "ADDED", key, None, new, initial))
            elif old is not new or replay:
                changes.append(Change(kind, "MODIFIED", key, old, new, initial))
        return changes

    def discard(self) -> None:
        """Forget what was staged."""
        self._staged = None

    def get(self, name: str, namespace: str = "") -> K | None:
        """An object of one's own, or None; `InvalidObject` if what the server holds does not fit the type."""
        entry = self._world.get(key_of(name, namespace))
        return None if entry is None else decode(entry.raw, self.kind)

    def entry(self, name: str, namespace: str = "") -> Entry | None:
        """The bytes and version of an object, or None."""
        return self._world.get(key_of(name, namespace))

    def entries(self) -> dict[str, Entry]:
        """The whole world as it is at this moment, by key."""
        return self._world.copy()

    def unreadable(self) -> dict[str, InvalidObject]:
        """The objects that do not fit the type, by key, with what is wrong with each. Reads all in full."""
        return {key: error for key, entry in self.entries().items() if (error := self._error(entry))}

    def __len__(self) -> int:
        return len(self._world)

    def __contains__(self, key: object) -> bool:
        return key in self._world

    def __iter__(self) -> Iterator[K]:
        """The objects of this moment, whatever changes meanwhile; what is no object at all is left out.

        One broken object would else keep every reader from all others; `unreadable` names it.
        """
        for entry in list(self._world.values()):
            try:
                obj = decode(entry.raw, self.kind)
            except InvalidObject:
                continue
            yield obj

    def _error(self, entry: Entry) -> InvalidObject | None:
        try:
            decode(entry.raw, self.kind, strict=True)
        except InvalidObject as error:
            return error
        return None

    def _apply_malformed(self, event: Malformed, changes: list[Change[K]]) -> str:
        """Take an object that could not be typed: its bytes are there. Gives the version it came with."""
        known = self._known(event)
        if known is None:
            return event.metadata.resource_version if event.metadata is not None else ""
        key, new = known
        old = self._world.get(key)
        if event.type == "DELETED":
            if old is not None:
                del self._world[key]
                changes.append(Change(self.kind, "DELETED", key, old, new))
        elif old is None or old.version != new.version:
            self._world[key] = new
            changes.append(Change(self.kind, "ADDED" if old is None else "MODIFIED", key, old, new))
        return new.version

    def _stage_malformed(self, event: Malformed, staged: dict[str, Entry]) -> None:
        known = self._known(event)
        if known is None:
            return
        key, new = known
        if event.type == "DELETED":
            staged.pop(key, None)
            return
        old = self._world.get(key)
        staged[key] = old if old is not None and old.version == new.version else new

    def _known(self, event: Malformed) -> tuple[str, Entry] | None:
        """Where a broken object belongs; None if that cannot be told, or if it is of another kind."""
        metadata = event.metadata
        if metadata is None or not metadata.name or not metadata.resource_version:
            return None
        raw = _object_of(event.raw) if event.type else event.raw
        if self._is_stranger(raw):
            return None
        return key_of(metadata.name, metadata.namespace), Entry(metadata.resource_version, raw)

    def _is_stranger(self, raw: bytes) -> bool:
        own: Resource | None = getattr(self.kind, "resource", None)
        try:
            said = msgspec.json.decode(raw, type=_Identity)
        except msgspec.MsgspecError:
            return False
        # Without a resource any kind belongs here; the items of a list need not say what they are.
        return own is not None and bool(said.kind) and said != _Identity(own.kind, own.api_version)


def _place(obj: KubeObject) -> tuple[str, str]:
    metadata = obj.metadata
    namespace, name = metadata.namespace, metadata.name
    return (f"{namespace}/{name}" if namespace else name), metadata.resource_version


def _object_of(line: bytes) -> bytes:
    """The object in the line of an event, as it stands there; nothing if the line is no JSON."""
    try:
        return bytes(msgspec.json.decode(line, type=_Line).object)
    except msgspec.MsgspecError:
        return b""
