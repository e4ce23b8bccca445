"""`Store`: a snapshot of one kind as bytes under keys, exact at one version, and decoded when read.

    events ── update ─────────────────────► the snapshot, changes
    events ── stage ──► a staged snapshot, and its differences
                         ├── replace ─────► the snapshot, changes
                         └── discard

Readers never see the staged snapshot: a list in pages or a streaming list replaces the snapshot in one step.
Objects that the new snapshot lacks are reported as deletions with their last known state, and unchanged
objects are not reported.

- The bytes are the data: the text that the server sent for each object, even where its class lacks fields, or
  the result of `transform` for that text. Received text is never encoded again. Each reader gets a new
  object, so no reader can corrupt the object of another.
- An object costs its bytes, its key and a `CachedObject`. The garbage collector visits none of these, nor the
  dictionary that contains them. A new snapshot shares the entries of unchanged objects.
- The differences of a new snapshot are computed while it arrives, a part at a time, so that `replace` has
  little left to do: with 100,000 unchanged objects it takes 10 ms, and would otherwise block an event loop
  for 60 ms.
- `transform` is applied to the received bytes before they are stored; it does not change versions.
- An object that does not fit its type is stored as bytes: it exists, and a cache without it would be wrong.
  Reading it raises `InvalidObject`.
- Items of built-in lists lack their kind. `resource` provides it if the class does not.
- Events are applied in the order of their arrival, even at an older version than before; the change reports
  that (`Change.went_back`).
- Indexes and subscribers are not part of the Store: they need only the changes.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from .._errors import InvalidObject, KubeprotoError, LocalProtocolError
from ..objects import KubeObject, Reader, Resource, TooDeep, decode, split_object
from ..objects._shared import encode_for_store, extract_object, join_members
from ..watching import Added, Bookmark, Deleted, Malformed, Modified, WatchEvent
from ._cached_objects import CachedObject, Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

K = TypeVar("K", bound=KubeObject)


class _TypeMeta(Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


_decode_type_meta: Final = Reader[_TypeMeta](_TypeMeta).read


class StoreFull(KubeprotoError):
    """A snapshot exceeds a limit of its Store."""


def key_of(name: str, namespace: str = "") -> str:
    """Return the key of an object: ``namespace/name``, or the name alone for a cluster-scoped object."""
    return f"{namespace}/{name}" if namespace else name


class Store(Generic[K]):
    """Caches the objects of one kind. `version` is that of its snapshot; "" until it has synced.

    More than `max_objects` objects or `max_bytes` bytes raise `StoreFull`: an exact cache cannot omit
    objects.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        resource: Resource | None = None,
        transform: Callable[[bytes], bytes] | None = None,
        max_objects: float = inf,
        max_bytes: float = inf,
    ) -> None:
        self.kind = kind
        self.version = ""
        self.resource = resource
        self._transform = transform
        self._max_objects, self._max_bytes = max_objects, max_bytes
        self._snapshot: dict[str, CachedObject] = {}
        self._size = 0
        self._staged: dict[str, CachedObject] | None = None
        self._staged_size = 0
        # The differences of the staged snapshot without deletions; None if the snapshot has changed since.
        self._pending: dict[str, Change[K]] | None = None

    # Writing

    def update(self, events: Iterable[WatchEvent[K]]) -> list[Change[K]]:
        """Apply the events of a watch to the snapshot; return the changes."""
        changes: list[Change[K]] = []
        self._pending = None
        for event in events:
            # A busy watch spends its time here. A `match` on classes takes longer than the other lines
            # together.
            event_type = type(event)
            if event_type is Added or event_type is Modified:
                upsert: Added[K] | Modified[K] = event  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]
                obj = upsert.object
                meta = obj.metadata
                version, namespace = meta.resource_version, meta.namespace
                key = f"{namespace}/{meta.name}" if namespace else meta.name
                old = self._snapshot.get(key)
                if old is None or old.version != version or not version:
                    self._put(key, old, self._make_entry(version, obj), changes)
            elif isinstance(event, Deleted):
                key, version = _key_and_version(event.object)
                if key in self._snapshot:
                    self._remove(key, self._make_entry(version, event.object), changes)
            elif isinstance(event, Malformed):
                version = self._update_malformed(event, changes)
            else:
                version = event.version if isinstance(event, Bookmark) else ""
            self.version = version or self.version
        self._check_limits(len(self._snapshot), self._size)
        return changes

    def stage(self, items: Iterable[WatchEvent[K] | K]) -> list[Malformed]:
        """Add to a staged snapshot: the objects of a list's page, or the events of a streaming list.

        Return the malformed objects that cannot be identified.
        """
        unidentified: list[Malformed] = []
        if self._staged is None:
            self._staged, self._staged_size, self._pending = {}, 0, {}
        snapshot, staged = self._snapshot, self._staged
        for item in items:
            item_type = type(item)
            if item_type is Added or item_type is Modified:
                obj: K = item.object  # type: ignore[union-attr]
            elif isinstance(item, KubeObject):
                obj = item
            elif isinstance(item, Deleted):
                self._unstage(_key_and_version(item.object)[0])
                continue
            elif isinstance(item, Malformed):
                if not self._stage_malformed(item):
                    unidentified.append(item)
                continue
            else:
                continue
            key, version = _key_and_version(obj)  # pyright: ignore[reportUnknownArgumentType]
            old = snapshot.get(key)
            if old is None or old.version != version or not version:
                self._stage_entry(key, old, self._make_entry(version, obj))  # pyright: ignore[reportUnknownArgumentType]
            elif key in staged:
                self._stage_entry(key, old, old)
            else:  # unchanged, the most frequent case of a relist
                staged[key] = old
                self._staged_size += len(old.raw)
        self._check_limits(len(staged), self._staged_size)
        return unidentified

    def replace(self, version: str, *, replay: bool = False) -> list[Change[K]]:
        """Replace the snapshot with the staged snapshot, which is complete at this version.

        Return the changes, deletions first; with `replay` unchanged objects too.
        """
        if self._staged is None:
            raise LocalProtocolError("replace without stage: there is no staged snapshot")
        old_snapshot, snapshot, pending = self._snapshot, self._staged, self._pending
        initial = not self.version
        if pending is None or replay:
            upserts = [
                self._make_change(key, old, new, initial=initial)
                for key, new in snapshot.items()
                if (old := old_snapshot.get(key)) is not new or replay
            ]
        else:
            upserts = list(pending.values())
        # The count of the remaining objects usually equals that of the old snapshot: then no object is
        # missing, and the search for missing objects can be skipped.
        deletions: list[Change[K]] = []
        if len(snapshot) - sum(change.old is None for change in upserts) < len(old_snapshot):
            deletions = [
                Change(self.kind, "DELETED", key, old, None, resource=self.resource)
                for key, old in old_snapshot.items()
                if key not in snapshot
            ]
        self._snapshot, self._size, self.version = snapshot, self._staged_size, version
        self.discard()
        return deletions + upserts

    def discard(self) -> None:
        """Drop the staged snapshot."""
        self._staged, self._staged_size, self._pending = None, 0, None

    # Reading

    @property
    def size(self) -> int:
        """The bytes of all objects."""
        return self._size

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, or None; raise `InvalidObject` if the server's object does not fit the
        type."""
        entry = self._snapshot.get(key_of(name, namespace))
        return None if entry is None else self.read(entry)

    def read(self, entry: CachedObject, *, strict: bool = False) -> K:
        """Return the object of an entry, decoded anew; raise `InvalidObject` if it does not fit the type."""
        return decode(entry.raw, self.kind, strict=strict, resource=self.resource)

    def entry(self, key: str) -> CachedObject | None:
        """Return the bytes and the version under a key, or None."""
        return self._snapshot.get(key)

    def entries(self) -> dict[str, CachedObject]:
        """Return a copy of the present snapshot, by key."""
        return self._snapshot.copy()

    def __len__(self) -> int:
        return len(self._snapshot)

    def __contains__(self, key: object) -> bool:
        return key in self._snapshot

    def __iter__(self) -> Iterator[K]:
        """Yield the objects of the present snapshot, whatever changes meanwhile, except unreadable objects.

        A single broken object would otherwise hide all others; `entries` includes it.
        """
        for entry in list(self._snapshot.values()):
            try:
                obj = self.read(entry)
            except InvalidObject:
                continue
            yield obj

    # Changes of the snapshots

    def _make_entry(self, version: str, obj: K) -> CachedObject:
        """Return the entry of an object with its received text, never with encoded text.

        The front of a long line is decoded alone, so the rest may prove malformed here. The object exists
        nevertheless: it is stored without a text, and reading it raises `InvalidObject`.
        """
        try:
            raw = encode_for_store(obj)
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

    def _remove(self, key: str, new: CachedObject, changes: list[Change[K]]) -> None:
        old = self._snapshot.pop(key)
        self._size -= len(old.raw)
        changes.append(Change(self.kind, "DELETED", key, old, new, resource=self.resource))

    def _stage_entry(self, key: str, old: CachedObject | None, new: CachedObject) -> None:
        """Add an entry to the staged snapshot; `old` is the entry in the present snapshot."""
        staged, pending = self._staged, self._pending
        assert staged is not None
        if key in staged:
            self._unstage(key)
        staged[key] = new
        self._staged_size += len(new.raw)
        if pending is not None and old is not new:
            pending[key] = self._make_change(key, old, new, initial=not self.version)

    def _unstage(self, key: str) -> None:
        assert self._staged is not None
        if (entry := self._staged.pop(key, None)) is not None:
            self._staged_size -= len(entry.raw)
            if self._pending is not None:
                self._pending.pop(key, None)

    def _make_change(
        self, key: str, old: CachedObject | None, new: CachedObject, *, initial: bool
    ) -> Change[K]:
        return Change(
            self.kind, "ADDED" if old is None else "MODIFIED", key, old, new, initial, self.resource
        )

    def _check_limits(self, objects: int, size: int) -> None:
        if objects <= self._max_objects and size <= self._max_bytes:
            return
        kind = getattr(self.kind, "__name__", self.kind)
        if objects > self._max_objects:
            raise StoreFull(
                f"the cache of {kind} exceeds max_objects={self._max_objects}: raise the limit, or select"
                " fewer objects by namespace or labels"
            )
        raise StoreFull(
            f"the cache of {kind} exceeds max_bytes={self._max_bytes}: {objects} objects take {size} bytes;"
            " raise the limit, or select fewer objects by namespace or labels"
        )

    # Malformed objects: events and items that could not be decoded, whose metadata may have been

    def _update_malformed(self, event: Malformed, changes: list[Change[K]]) -> str:
        """Apply a malformed event to the snapshot; return its version."""
        identified = self._identify(event)
        if identified is None:
            return event.metadata.resource_version if event.metadata is not None else ""
        key, new = identified
        old = self._snapshot.get(key)
        if event.type == "DELETED":
            if old is not None:
                self._remove(key, new, changes)
        elif old is None or old.version != new.version:
            self._put(key, old, new, changes)
        return new.version

    def _stage_malformed(self, event: Malformed) -> bool:
        """Add a malformed object to the staged snapshot; return whether it could be identified."""
        identified = self._identify(event)
        if identified is None:
            return False
        key, new = identified
        if event.type == "DELETED":
            self._unstage(key)
            return True
        old = self._snapshot.get(key)
        self._stage_entry(key, old, old if old is not None and old.version == new.version else new)
        return True

    def _identify(self, event: Malformed) -> tuple[str, CachedObject] | None:
        """Return the key and entry of a malformed object; None without an identity, or for another kind."""
        metadata = event.metadata
        if metadata is None or not metadata.name or not metadata.resource_version:
            return None
        raw = _extract_object(event.raw) if event.type else event.raw
        if self._is_other_kind(raw):
            return None
        if self._transform is not None and raw:
            raw = self._transform(raw)
        return key_of(metadata.name, metadata.namespace), CachedObject(metadata.resource_version, raw)

    def _is_other_kind(self, raw: bytes) -> bool:
        resource: Resource | None = getattr(self.kind, "resource", None)
        try:
            type_meta = _read_type_meta(raw)
        except InvalidObject:
            return False
        # A class without a resource accepts every kind, and the items of a list may lack their kind.
        return (
            resource is not None
            and bool(type_meta.kind)
            and type_meta != _TypeMeta(resource.kind, resource.api_version)
        )


def _key_and_version(obj: KubeObject) -> tuple[str, str]:
    metadata = obj.metadata
    namespace, name = metadata.namespace, metadata.name
    return f"{namespace}/{name}" if namespace else name, metadata.resource_version


def _extract_object(line: bytes) -> bytes:
    """Return the object in the line of an event, as received; b"" if the line is not JSON."""
    try:
        return extract_object(line)
    except InvalidObject:
        return b""


def _read_type_meta(raw: bytes) -> _TypeMeta:
    try:
        return _decode_type_meta(raw)
    except TooDeep:
        members = split_object(raw)
    return _decode_type_meta(
        join_members({name: members[name] for name in ("kind", "apiVersion") if name in members})
    )
