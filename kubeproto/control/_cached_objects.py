"""The difference of an object between two states of a Store, as bytes that are decoded when read."""

from __future__ import annotations

import builtins
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from .._errors import InvalidObject
from ..objects import KubeObject, ObjectRef, Resource, compare_versions, decode

K = TypeVar("K", bound=KubeObject)


class CachedObject(Struct, frozen=True, gc=False):
    """An object in a Store: its version, and its JSON as received; b"" if the server sent invalid JSON."""

    version: str
    raw: bytes

    def __repr__(self) -> str:
        # The content may be a Secret, and changes are printed and logged.
        return f"CachedObject(version={self.version!r}, raw=<{len(self.raw)} bytes>)"


class Change(Struct, Generic[K], frozen=True, gc=False):
    """A change of an object: `old` is its previous entry in the Store, `new` its present entry.

    A relist that lacks an object implies its deletion. Such a change has no `new`: `assumed` is true, and
    `object` is the last known state. `initial` is true for the first snapshot of a Store. In a replay, an
    unchanged object has the same entry as `old` and `new`.
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
        """The present or last known object, decoded anew each time; raises `InvalidObject`."""
        return self.read(_latest_entry(self))

    @property
    def old_object(self) -> K | None:
        """The previous object, decoded anew each time; None if the Store had no such object."""
        return None if self.old is None else self.read(self.old)

    def read(self, entry: CachedObject) -> K:
        """Decode an entry as this kind, anew each time; raises `InvalidObject`."""
        return decode(entry.raw, self.kind, resource=self.resource)

    @property
    def ref(self) -> ObjectRef[K]:
        """The reference to the object."""
        namespace, _, name = self.key.rpartition("/")
        resource = getattr(self.kind, "resource", None) or self.resource
        if resource is not None:
            return ObjectRef(resource.group, resource.kind, namespace, name)
        obj = _decode_metadata(_latest_entry(self).raw)
        group, _, _ = obj.api_version.rpartition("/")
        return ObjectRef(group, obj.kind, namespace, name)

    @property
    def assumed(self) -> bool:
        """Whether this is a deletion that no event reported: a relist lacks the object."""
        return self.type == "DELETED" and self.new is None

    @property
    def replaced(self) -> bool:
        """Whether the name belongs to a new object: the old object was deleted while no watch was open."""
        return (
            self.old is not None
            and self.new is not None
            and self.old is not self.new
            and _decode_metadata(self.old.raw).metadata.uid != _decode_metadata(self.new.raw).metadata.uid
        )

    @property
    def went_back(self) -> bool:
        """Whether the version is older than the previous version: a server was restored, or lags behind."""
        if self.old is None or self.new is None:
            return False
        try:
            return compare_versions(self.new.version, self.old.version) < 0
        except ValueError:
            return False


def _latest_entry(change: Change[K]) -> CachedObject:
    entry = change.new if change.new is not None else change.old
    assert entry is not None  # a change has at least one of the two
    return entry


def _decode_metadata(raw: bytes) -> KubeObject:
    try:
        return decode(raw, KubeObject)
    except InvalidObject:
        return KubeObject()
