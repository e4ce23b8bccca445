"""What has become of an object between two moments of the world, as bytes that are typed when read."""

from __future__ import annotations

import builtins
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from .._errors import InvalidObject
from ..objects import KubeObject, ObjectRef, Resource, compare_versions, decode

K = TypeVar("K", bound=KubeObject)


class CachedObject(Struct, frozen=True, gc=False):
    """One object as the Store keeps it: its version, and its JSON as it came; b"" if that was none."""

    version: str
    raw: bytes

    def __repr__(self) -> str:
        # What is in it may be a Secret, and changes are printed and logged.
        return f"CachedObject(version={self.version!r}, raw=<{len(self.raw)} bytes>)"


class Change(Struct, Generic[K], frozen=True, gc=False):
    """One object has changed. `old` is what the world held, `new` what has come.

    A deletion that was only noticed, because a new world lacks the object, brings nothing new: then `assumed`
    is true and `object` the last known state. `initial` marks the first world of a Store. A replay of what
    did not change has the same entry as `old` and `new`.
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
        """The object as it is now, or as it last was; a fresh one each time, or `InvalidObject`."""
        return self.read(_last(self))

    @property
    def before(self) -> K | None:
        """The object as the world held it, if it did; a fresh one each time."""
        return None if self.old is None else self.read(self.old)

    def read(self, entry: CachedObject) -> K:
        """Return the object of an entry as this kind; a fresh one each time, or `InvalidObject`."""
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
        """Whether this is a deletion that nobody has told."""
        return self.type == "DELETED" and self.new is None

    @property
    def replaced(self) -> bool:
        """Whether another object has taken the name: what was there has been deleted in a gap."""
        return (
            self.old is not None
            and self.new is not None
            and self.old is not self.new
            and _identity(self.old.raw).metadata.uid != _identity(self.new.raw).metadata.uid
        )

    @property
    def went_back(self) -> bool:
        """Whether the version is older than the one before: a server was set back, or lags behind."""
        if self.old is None or self.new is None:
            return False
        try:
            return compare_versions(self.new.version, self.old.version) < 0
        except ValueError:
            return False


def _last(change: Change[K]) -> CachedObject:
    entry = change.new if change.new is not None else change.old
    assert entry is not None  # something came, or something was there
    return entry


def _identity(raw: bytes) -> KubeObject:
    try:
        return decode(raw, KubeObject)
    except InvalidObject:
        return KubeObject()
