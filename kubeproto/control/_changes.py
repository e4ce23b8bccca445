"""How an object differs between two states of a Store, as bytes that are decoded when read."""

from __future__ import annotations

import builtins
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from .._errors import InvalidObject
from ..objects import KubeObject, ObjectRef, Resource, compare_versions, decode

K = TypeVar("K", bound=KubeObject)


class CachedObject(Struct, frozen=True, gc=False):
    """One object as the Store keeps it: its version, and its JSON as received; b"" if that was not JSON."""

    version: str
    raw: bytes

    def __repr__(self) -> str:
        # The content may be a Secret, and changes are printed and logged.
        return f"CachedObject(version={self.version!r}, raw=<{len(self.raw)} bytes>)"


class Change(Struct, Generic[K], frozen=True, gc=False):
    """One change of an object: `old` is what the Store had, `new` what it has now.

    A deletion that a relist found, because the new snapshot lacks the object, has no `new`: then `assumed` is
    true and `object` the last known state. `initial` is true for the first snapshot of a Store. In a replay,
    an object that did not change has the same entry as `old` and `new`.
    """

    kind: builtins.type[K]  # in this class `type` is the field below
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    key: str
    old: CachedObject | None
    new: CachedObject | None
    initial: bool = False
    resource: Resource | None = None

    @property
    def object(self) -> K:
        """The object as it is now, or as it was last; a new one each time, or `InvalidObject`."""
        return self.read(_last(self))

    @property
    def before(self) -> K | None:
        """The object as the Store had it, if it did; a new one each time."""
        return None if self.old is None else self.read(self.old)

    def read(self, entry: CachedObject) -> K:
        """Return the object of an entry as this kind; a new one each time, or `InvalidObject`."""
        return decode(entry.raw, self.kind, resource=self.resource)

    @property
    def ref(self) -> ObjectRef[K]:
        """Which object it is."""
        namespace, _, name = self.key.rpartition("/")
        own = getattr(self.kind, "resource", None) or self.resource
        if own is not None:
            return ObjectRef(own.group, own.kind, namespace, name)
        identity: KubeObject = _identity(_last(self).raw)
        group, _, _ = identity.api_version.rpartition("/")
        return ObjectRef(group, identity.kind, namespace, name)

    @property
    def assumed(self) -> bool:
        """Whether this is a deletion that a relist found: no event reported it."""
        return self.type == "DELETED" and self.new is None

    @property
    def replaced(self) -> bool:
        """Whether another object has the name now: the old one was deleted while no watch was open."""
        return (
            self.old is not None
            and self.new is not None
            and self.old is not self.new
            and _identity(self.old.raw).metadata.uid != _identity(self.new.raw).metadata.uid
        )

    @property
    def went_back(self) -> bool:
        """Whether the version is older than the previous one: a server was restored, or lags behind."""
        if self.old is None or self.new is None:
            return False
        try:
            return compare_versions(self.new.version, self.old.version) < 0
        except ValueError:
            return False


def _last(change: Change[K]) -> CachedObject:
    entry = change.new if change.new is not None else change.old
    assert entry is not None  # a change has at least one of the two
    return entry


def _identity(raw: bytes) -> KubeObject:
    try:
        return decode(raw, KubeObject)
    except InvalidObject:
        return KubeObject()
