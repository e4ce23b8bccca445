"""`OwnWrites`: which keys wait until the caches show what their last run has written.

::

    run ends ── hold ──► waiting ──┬── progress: each cache shows what it has to ──► released
                                   └── expire: the limit has passed ──────────────► released

A run that follows at once reads its cache, and without this it may see the object from before the status
that the last run wrote: it does the work twice, or gets a conflict with its own write.

- A cache is waited for only if it will show the write: it follows the kind, the namespace and the labels, or
  holds the object, which will leave it then. Of the fields in a field selector, only name and namespace
  are known here: with others, an object that the cache does not hold is not waited for.
- A write that changed nothing returns a version that the cache has, or will have at once.
- A deletion is shown once the object of that uid is gone or has a deletion timestamp.
- A relist at an older version, because a server was set back, shows all: the version may never come.
- No key waits for longer than the limit: a lagging cache costs a second, and not the controller.
- A cache that comes past a write and shows an older object, or after the limit none, has lost the write: the
  server was set back to a backup. What it shows may be what it showed before, so no event says so, and the
  key is to be reconciled again (`take_lost`).
- Where versions have no order, the object itself has to have the version that was written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Any, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from .._errors import InvalidObject
from ..objects import FieldSelector, KubeObject, Selector, Status, compare_versions, decode
from ._changes import CachedObject
from ._store import key_of

Find: TypeAlias = Callable[[str], CachedObject | None]

Key = TypeVar("Key", bound=Hashable)

# Seconds. A watch brings what was written within milliseconds; a cache slower than this lags by minutes.
LONGEST: Final = 1.0


class OwnWrite(Struct, frozen=True, kw_only=True):
    """An object that a run has written or deleted, according to the response."""

    group: str
    plural: str
    key: str
    uid: str
    version: str = ""
    labels: Mapping[str, str] = {}
    deleted: bool = False


class CacheScope(Struct, frozen=True, kw_only=True):
    """What a cache follows; `namespace` is "" for all of them."""

    group: str
    plural: str
    namespace: str = ""
    labels: Selector = Selector()
    fields: FieldSelector = FieldSelector()


def own_write(method: str, target: str, value: object) -> OwnWrite | None:
    """Return what a request has written, by its response; None if no cache could show it."""
    path, _, query = target.partition("?")
    place = _place(path)
    if method in ("GET", "HEAD") or place is None or "dryRun=" in query:
        return None
    group, plural, namespace, name = place
    if isinstance(value, Status):
        if method != "DELETE" or not name or not value.details.uid:
            return None
        return OwnWrite(
            group=group, plural=plural, key=key_of(name, namespace), uid=value.details.uid, deleted=True
        )
    if not isinstance(value, KubeObject):
        return None
    meta = value.metadata
    if not meta.name or not meta.resource_version:
        return None
    return OwnWrite(
        group=group,
        plural=plural,
        key=key_of(meta.name, meta.namespace),
        uid=meta.uid,
        version=meta.resource_version,
        labels=dict(meta.labels or {}),
        deleted=method == "DELETE",
    )


def _place(path: str) -> tuple[str, str, str, str] | None:
    """Return the group, plural, namespace and name in a path; "" for a name that it does not have."""
    match path.split("/"):
        case ["", "api", _, *rest]:
            group = ""
        case ["", "apis", group, _, *rest]:
            pass
        case _:
            return None
    match rest:
        case ["namespaces", namespace, plural, *more] if plural not in ("status", "finalize"):
            return group, plural, namespace, more[0] if more else ""
        case [plural, *more]:
            return group, plural, "", more[0] if more else ""
        case _:
            return None


def will_show(followed: CacheScope, write: OwnWrite, known: CachedObject | None) -> bool:
    """Return whether a cache will come to show a write. `known` is what it holds under the key."""
    if (followed.group, followed.plural) != (write.group, write.plural):
        return False
    if followed.namespace and followed.namespace != write.key.rpartition("/")[0]:
        return False
    if known is not None:
        return True  # it sees what it holds change, or leave its selection
    return not write.deleted and _fields_match(followed, write) and followed.labels.matches(write.labels)


def _fields_match(followed: CacheScope, write: OwnWrite) -> bool:
    """Return whether the fields of a selector are known and match."""
    namespace, _, name = write.key.rpartition("/")
    known = {"metadata.name": name, "metadata.namespace": namespace}
    fields = followed.fields
    return all(one.path in known for one in fields.requirements) and fields.matches(known)


def is_shown(write: OwnWrite, version: str, known: CachedObject | None) -> bool:
    """Return whether a cache at this version shows a write. `known` is what it holds under the key."""
    if write.deleted:
        return known is None or not _is_untouched(known, write.uid)
    try:
        return compare_versions(version, write.version) >= 0
    except ValueError:
        return known is not None and known.version == write.version


def _is_untouched(known: CachedObject, uid: str) -> bool:
    """Return whether this is the object of that uid, and not being deleted."""
    try:
        meta = decode(known.raw, KubeObject).metadata
    except InvalidObject:
        return False
    return meta.uid == uid and meta.deletion_timestamp is None


class _Held(Struct, Generic[Key]):
    """A key that waits: for how many writes, since when and until when. `left` is 0 once it is released.

    `ranked` counts the writes with a version that a cache has yet to come past, also after a release; `late`
    says that the limit released it.
    """

    key: Key
    left: int
    since: float
    until: float
    ranked: int = 0
    late: bool = False


class OwnWrites(Generic[Key]):
    """The keys that wait. Plain and deterministic: the caller chooses what identifies its caches."""

    def __init__(self, *, limit: float = LONGEST) -> None:
        self.limit = limit
        self.waits = self.timeouts = 0
        self.seconds = 0.0
        self._held: dict[Key, _Held[Key]] = {}
        self._order: deque[_Held[Key]] = deque()  # the limit is one for all, so they expire in this order
        self._versions: dict[Hashable, list[tuple[tuple[int, str], int, _Held[Key], str]]] = {}
        self._others: dict[Hashable, list[tuple[OwnWrite, _Held[Key]]]] = {}
        self._reached: dict[Hashable, str] = {}
        self._lost: list[Key] = []
        self._late = 0
        self._turn = 0

    def hold(self, key: Key, awaited: Iterable[tuple[Hashable, OwnWrite]], now: float) -> bool:
        """Make a key wait until these caches show these writes; False if there are none to wait for."""
        held = _Held(key, 0, now, now + self.limit)
        for cache, write in awaited:
            held.left += 1
            if not write.deleted and (rank := _rank(write.version)) is not None:
                self._turn += 1
                held.ranked += 1
                heappush(self._versions.setdefault(cache, []), (rank, self._turn, held, write.key))
            else:
                self._others.setdefault(cache, []).append((write, held))
        if held.left:
            self.waits += 1
            self._held[key] = held
            self._order.append(held)
        return held.left > 0

    @property
    def outstanding(self) -> bool:
        """Whether a cache has yet to come past a write, be it that its key still waits or not."""
        return bool(self._held) or self._late > 0

    @property
    def waiting(self) -> int:
        """How many keys wait."""
        return len(self._held)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def progress(self, cache: Hashable, version: str, find: Find, now: float) -> list[Key]:
        """A cache has reached this version: return the keys that wait for nothing more."""
        before, self._reached[cache] = self._reached.get(cache, ""), version
        all_shown = _went_back(version, before)
        released: list[Key] = []
        versions, reached = self._versions.get(cache, []), _rank(version)
        while versions and (all_shown or (reached is not None and versions[0][0] <= reached)):
            rank, _, held, written = heappop(versions)
            self._note_loss(held, rank, find(written))
            self._shown(held, now, released)
        if others := self._others.get(cache):
            waiting: list[tuple[OwnWrite, _Held[Key]]] = []
            for write, held in others:
                if all_shown or is_shown(write, version, find(write.key)):
                    self._shown(held, now, released)
                elif held.left:
                    waiting.append((write, held))
            self._others[cache] = waiting
        return released

    def expire(self, now: float) -> list[Key]:
        """Return the keys that have waited for the whole limit."""
        late: list[Key] = []
        while self._order and (not self._order[0].left or self._order[0].until <= now):
            held = self._order.popleft()
            if held.left:
                self.timeouts += 1
                held.late = True
                self._late += held.ranked
                self._release(held, now)
                late.append(held.key)
        return late

    def next_at(self) -> float | None:
        """Return when the next key will have waited for the whole limit; None if none waits."""
        while self._order and not self._order[0].left:
            self._order.popleft()
        return self._order[0].until if self._order else None

    def clear(self, now: float) -> list[Key]:
        """Release all keys that wait, and return them."""
        keys = list(self._held)
        for held in list(self._held.values()):
            self._release(held, now)
        self._order.clear()
        self._versions.clear()
        self._others.clear()
        self._late = 0
        return keys

    def take_lost(self) -> list[Key]:
        """Return the keys whose writes a cache has come past without showing them, once."""
        lost, self._lost = self._lost, []
        return lost

    def _note_loss(self, held: _Held[Key], rank: tuple[int, str], known: CachedObject | None) -> None:
        held.ranked -= 1
        if held.late:
            self._late -= 1
            if known is None:  # deleted since, or never there
                self._lost.append(held.key)
        if known is not None and (shown := _rank(known.version)) is not None and shown < rank:
            self._lost.append(held.key)

    def _shown(self, held: _Held[Key], now: float, released: list[Key]) -> None:
        if held.left == 1:
            self._release(held, now)
            released.append(held.key)
        elif held.left:
            held.left -= 1

    def _release(self, held: _Held[Key], now: float) -> None:
        held.left = 0
        self.seconds += max(0.0, now - held.since)
        del self._held[held.key]


def _rank(version: str) -> tuple[int, str] | None:
    """Return something that is ordered as versions are; None for a version that has no order."""
    try:
        compare_versions(version, version)
    except ValueError:
        return None
    return len(version), version


def _went_back(version: str, before: str) -> bool:
    try:
        return compare_versions(version, before) < 0
    except ValueError:
        return False


def follows(resource: Any, namespace: str, labels: str | Selector, fields: str | FieldSelector) -> CacheScope:
    """Return what a cache of a resource follows."""
    return CacheScope(
        group=resource.group,
        plural=resource.plural,
        namespace=namespace,
        labels=Selector.parse(labels) if isinstance(labels, str) else labels,
        fields=FieldSelector.parse(fields) if isinstance(fields, str) else fields,
    )
