"""`Store`: a snapshot of one kind as bytes under keys, exact at one version, and decoded when read.

    events ── update ─────────────────────► the snapshot, changes
    events ── stage ──► another snapshot, and its differences
                         ├── replace ─────► the snapshot, changes
                         └── discard

Readers see the snapshot and never the staged one: a list in pages or a streaming list replaces the snapshot
in one step. Objects that a new snapshot lacks are reported as deletions with their last known state, and
unchanged ones are not reported.

- The bytes are the data: the text that the server sent for each object, even where its class lacks fields, or
  what `transform` made of that text. Text that was received is never encoded again. Each reader gets a new
  object, so none can corrupt what another one sees.
- An object costs its bytes, its key and a `CachedObject`, none of which the garbage collector walks, nor the
  dictionary that holds them. A new snapshot shares the entries that did not change.
- The differences of a new snapshot are found while it arrives, a part at a time, so that `replace` has little
  left to do: with 100,000 unchanged objects it takes 10 ms, and would otherwise block an event loop for 60
  ms.
- `transform` is applied to the received bytes before they are kept; it does not change versions.
- An object that does not fit its type is kept as bytes: it exists, and a cache without it would be wrong.
  Reading it raises `InvalidObject`.
- Items of built-in lists do not carry their kind. `resource` provides it if the class does not.
- Events are taken in the order of their arrival, even at an older version than before; the change reports
  that (`Change.went_back`).
- Indexes and subscribers are kept elsewhere: they need only the changes.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from msgspec import Struct

from .._errors import InvalidObject, KubeprotoError, LocalProtocolError
from ..objects import KubeObject, Reader, Resource, TooDeep, decode, members
from ..objects._shared import joined, kept_text, object_in
from ..watching import Added, Bookmark, Deleted, Malformed, Modified, WatchEvent
from ._changes import CachedObject, Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

K = TypeVar("K", bound=KubeObject)


class _Identity(Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


_read_identity: Final = Reader[_Identity](_Identity).read


class StoreFull(KubeprotoError):
    """A snapshot has grown beyond what its Store may hold."""


def key_of(name: str, namespace: str = "") -> str:
    """Return the key of an object: ``namespace/name``, or the name alone where there is no namespace."""
    return f"{namespace}/{name}" if namespace else name


class Store(Generic[K]):
    """Caches the objects of one kind. `version` is that of its snapshot; "" until it has synced.

    More than `max_objects` objects, or more than `most_bytes` bytes, raise `StoreFull`: an exact cache
    cannot leave some out.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        resource: Resource | None = None,
        transform: Callable[[bytes], bytes] | None = None,
        max_objects: float = inf,
        most_bytes: float = inf,
    ) -> None:
        self.kind = kind
        self.version = ""
        self.resource = resource
        self._transform = transform
        self._most = (max_objects, most_bytes)
        self._snapshot: dict[str, CachedObject] = {}
        self._size = 0
        self._staged: dict[str, CachedObject] | None = None
        self._staged_size = 0
        # What the staged snapshot changes, without deletions; None if the snapshot has changed since.
        self._pending: dict[str, Change[K]] | None = None

    def update(self, news: Iterable[WatchEvent[K]]) -> list[Change[K]]:
        """Update the snapshot by the events of a watch; return the changes."""
        changes: list[Change[K]] = []
        self._pending = None
        for event in news:
            # A busy watch spends its time here; a `match` on classes takes longer than everything else in it.
            type_ = type(event)
            if type_ is Added or type_ is Modified:
                known: Added[K] | Modified[K] = event  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]
                obj = known.object
                meta = obj.metadata
                version, namespace = meta.resource_version, meta.namespace
                key = f"{namespace}/{meta.name}" if namespace else meta.name
                old = self._snapshot.get(key)
                if old is None or old.version != version or not version:
                    self._put(key, old, self._entry(version, obj), changes)
            elif isinstance(event, Deleted):
                key, version = _place(event.object)
                if key in self._snapshot:
                    self._remove(key, self._entry(version, event.object), changes)
            elif isinstance(event, Malformed):
                version = self._update_malformed(event, changes)
            else:
                version = event.version if isinstance(event, Bookmark) else ""
            self.version = version or self.version
        self._check(len(self._snapshot), self._size)
        return changes

    def stage(self, news: Iterable[WatchEvent[K] | K]) -> list[Malformed]:
        """Take a part of a new snapshot: objects of a list's page, or events of a streaming list.

        Objects that cannot be identified are returned.
        """
        unplaced: list[Malformed] = []
        if self._staged is None:
            self._staged, self._staged_size, self._pending = {}, 0, {}
        snapshot, staged = self._snapshot, self._staged
        for one in news:
            type_ = type(one)
            if type_ is Added or type_ is Modified:
                obj: K = one.object  # type: ignore[union-attr]
            elif isinstance(one, KubeObject):
                obj = one
            elif isinstance(one, Deleted):
                self._unstage(_place(one.object)[0])
                continue
            elif isinstance(one, Malformed):
                if not self._stage_malformed(one):
                    unplaced.append(one)
                continue
            else:
                continue
            key, version = _place(obj)  # pyright: ignore[reportUnknownArgumentType]
            old = snapshot.get(key)
            if old is None or old.version != version or not version:
                self._stage(key, old, self._entry(version, obj))  # pyright: ignore[reportUnknownArgumentType]
            elif key in staged:
                self._stage(key, old, old)
            else:  # usually a new snapshot equals the old one
                staged[key] = old
                self._staged_size += len(old.raw)
        self._check(len(staged), self._staged_size)
        return unplaced

    def replace(self, version: str, *, replay: bool = False) -> list[Change[K]]:
        """Replace the snapshot with the staged one, which is complete at this version. Deletions come first.

        `replay` returns what did not change as well.
        """
        if self._staged is None:
            raise LocalProtocolError("replace without stage: there is no snapshot to show")
        before, snapshot, pending = self._snapshot, self._staged, self._pending
        initial = not self.version
        if pending is None or replay:
            news = self._difference(before, snapshot, initial=initial, replay=replay)
        else:
            news = list(pending.values())
        # How many old objects are still there is known: usually there is no need to look for missing ones.
        gone: list[Change[K]] = []
        if len(snapshot) - sum(change.old is None for change in news) < len(before):
            gone = [
                Change(self.kind, "DELETED", key, old, None, resource=self.resource)
                for key, old in before.items()
                if key not in snapshot
            ]
        self._snapshot, self._size, self.version = snapshot, self._staged_size, version
        self.discard()
        return gone + news

    def discard(self) -> None:
        """Drop what was staged."""
        self._staged, self._staged_size, self._pending = None, 0, None

    @property
    def size(self) -> int:
        """The bytes of all objects."""
        return self._size

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, or None; `InvalidObject` if the server's object does not fit the type."""
        entry = self._snapshot.get(key_of(name, namespace))
        return None if entry is None else self.read(entry)

    def read(self, entry: CachedObject, *, strict: bool = False) -> K:
        """Return the object of an entry, a new one each time; `InvalidObject` if it does not fit the type."""
        return decode(entry.raw, self.kind, strict=strict, resource=self.resource)

    def entry(self, name: str, namespace: str = "") -> CachedObject | None:
        """Return the entry of an object, its bytes and version, or None."""
        return self._snapshot.get(key_of(name, namespace))

    def find(self, key: str) -> CachedObject | None:
        """Return the entry under a key, or None."""
        return self._snapshot.get(key)

    def entries(self) -> dict[str, CachedObject]:
        """Return the whole snapshot as it is at this moment, by key."""
        return self._snapshot.copy()

    def unreadable(self) -> dict[str, InvalidObject]:
        """Return the objects that do not fit the type, by key, with what is wrong. It reads all in full."""
        return {key: error for key, entry in self.entries().items() if (error := self._error(entry))}

    def __len__(self) -> int:
        return len(self._snapshot)

    def __contains__(self, key: object) -> bool:
        return key in self._snapshot

    def __iter__(self) -> Iterator[K]:
        """Yield the objects of this moment, whatever changes meanwhile; what is not an object is left out.

        One broken object would otherwise keep readers from all others; `unreadable` names it.
        """
        for entry in list(self._snapshot.values()):
            try:
                obj = self.read(entry)
            except InvalidObject:
                continue
            yield obj

    def _error(self, entry: CachedObject) -> InvalidObject | None:
        try:
            self.read(entry, strict=True)
        except InvalidObject as error:
            return error
        return None

    # Writing

    def _entry(self, version: str, obj: K) -> CachedObject:
        """Return the entry for an object, with the text that was received, never with one that was encoded.

        A long line may be malformed after its front, where it was not read. The object exists nevertheless,
        so it is kept without a text, and reading it raises `InvalidObject`.
        """
        try:
            raw = kept_text(obj)
        except InvalidObject:
            return CachedObject(version, b"")
        transform = self._transform
        return CachedObject(version, raw if transform is None else transform(raw))

    def _put(self, key: str, old: CachedObject | None, new: CachedObject, changes: list[Change[K]]) -> None:
        self._snapshot[key] = new
        if old is None:
            self._size += len(new.raw)
            changes.append(Change(self.kind, "ADDED", key, None, new, False, self.resource))
        else:
            self._size += len(new.raw) - len(old.raw)
            changes.append(Change(self.kind, "MODIFIED", key, old, new, False, self.resource))

    def _remove(self, key: str, last: CachedObject, changes: list[Change[K]]) -> None:
        old = self._snapshot.pop(key)
        self._size -= len(old.raw)
        changes.append(Change(self.kind, "DELETED", key, old, last, resource=self.resource))

    def _stage(self, key: str, old: CachedObject | None, new: CachedObject) -> None:
        """Note one object of the staged snapshot; `old` is its entry in the present one."""
        staged, pending = self._staged, self._pending
        assert staged is not None
        if key in staged:
            self._unstage(key)
        staged[key] = new
        self._staged_size += len(new.raw)
        if pending is not None and old is not new:
            pending[key] = self._change(key, old, new, initial=not self.version)

    def _unstage(self, key: str) -> None:
        assert self._staged is not None
        if (entry := self._staged.pop(key, None)) is not None:
            self._staged_size -= len(entry.raw)
            if self._pending is not None:
                self._pending.pop(key, None)

    def _change(
        self, key: str, old: CachedObject | None, new: CachedObject, *, initial: bool = False
    ) -> Change[K]:
        type_: Literal["ADDED", "MODIFIED"] = "ADDED" if old is None else "MODIFIED"
        return Change(self.kind, type_, key, old, new, initial, self.resource)

    def _difference(
        self,
        before: dict[str, CachedObject],
        snapshot: dict[str, CachedObject],
        *,
        initial: bool,
        replay: bool,
    ) -> list[Change[K]]:
        """Return what is new or different in a snapshot."""
        return [
            self._change(key, old, new, initial=initial)
            for key, new in snapshot.items()
            if (old := before.get(key)) is not new or replay
        ]

    def _check(self, objects: int, size: int) -> None:
        max_objects, most_bytes = self._most
        if objects > max_objects:
            raise StoreFull(f"there are more than {max_objects} objects of {self._named}, which is the limit")
        if size > most_bytes:
            raise StoreFull(
                f"{objects} objects of {self._named} take {size} bytes; the limit is {most_bytes}"
            )

    @property
    def _named(self) -> str:
        return str(getattr(self.kind, "__name__", self.kind))

    def _update_malformed(self, event: Malformed, changes: list[Change[K]]) -> str:
        """Take an object that could not be decoded: its bytes are kept. Return its version."""
        known = self._known(event)
        if known is None:
            return event.metadata.resource_version if event.metadata is not None else ""
        key, new = known
        old = self._snapshot.get(key)
        if event.type == "DELETED":
            if old is not None:
                self._remove(key, new, changes)
        elif old is None or old.version != new.version:
            self._put(key, old, new, changes)
        return new.version

    def _stage_malformed(self, event: Malformed) -> bool:
        """Take a broken object into the staged snapshot. False if it cannot be identified."""
        known = self._known(event)
        if known is None:
            return False
        key, new = known
        if event.type == "DELETED":
            self._unstage(key)
            return True
        old = self._snapshot.get(key)
        self._stage(key, old, old if old is not None and old.version == new.version else new)
        return True

    def _known(self, event: Malformed) -> tuple[str, CachedObject] | None:
        """Return the key of a broken object; None if it cannot be identified, or is of another kind."""
        metadata = event.metadata
        if metadata is None or not metadata.name or not metadata.resource_version:
            return None
        raw = _object_of(event.raw) if event.type else event.raw
        if self._is_stranger(raw):
            return None
        if self._transform is not None and raw:
            raw = self._transform(raw)
        return key_of(metadata.name, metadata.namespace), CachedObject(metadata.resource_version, raw)

    def _is_stranger(self, raw: bytes) -> bool:
        own: Resource | None = getattr(self.kind, "resource", None)
        try:
            said = _identity(raw)
        except InvalidObject:
            return False
        # Without a resource every kind belongs here; the items of a list need not name theirs.
        return own is not None and bool(said.kind) and said != _Identity(own.kind, own.api_version)


def _place(obj: KubeObject) -> tuple[str, str]:
    metadata = obj.metadata
    namespace, name = metadata.namespace, metadata.name
    return f"{namespace}/{name}" if namespace else name, metadata.resource_version


def _object_of(line: bytes) -> bytes:
    """Return the object in the line of an event, as it was received; nothing if the line is not JSON."""
    try:
        return object_in(line)
    except InvalidObject:
        return b""


def _identity(raw: bytes) -> _Identity:
    try:
        return _read_identity(raw)
    except TooDeep:
        found = members(raw)
    head = {key: raw for key, raw in found.items() if key in ("kind", "apiVersion")}
    return _read_identity(joined(head))
