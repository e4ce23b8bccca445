"""What has become of an object between two moments of the world, as bytes that are typed when read."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

from ..objects import NOT_JSON, KubeObject, ObjectRef, compare_versions, decode

K = TypeVar("K", bound=KubeObject)


class Entry(Struct, frozen=True, gc=False):
    """One object as the Store keeps it: its version, and its JSON as it came; b"" if that was none."""

    version: str
    raw: bytes

    def __repr__(self) -> str:
        # What is in it may be a Secret, and changes are printed and logged.
        return f"Entry(version={self.version!r}, raw=<{len(self.raw)} bytes>)"


class Change(Struct, Generic[K], frozen=True, gc=False):
    """One object has changed. `old` is what the world held, `new` what has come.

    A deletion that was only noticed, because a new world lacks the object, brings nothing new: then `assumed`
    is true and `object` the last known state. `initial` marks the first world of a Store. A replay of what
    did not change has the same entry as `old` and `new`.
    """

    kind: type[K]
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    key: str
    old: Entry | None
    new: Entry | None
    initial: bool = False

    @property
    def object(self) -> K:
        """The object as it is now, or as it last was; a fresh one each time, or `InvalidObject`."""
        return decode(_last(self).raw, self.kind)

    @property
    def before(self) -> K | None:
        """The object as the world held it, if it did; a fresh one each time."""
        return None if self.old is None else decode(self.old.raw, self.kind)

    @property
    def ref(self) -> ObjectRef[K]:
        """Which object it is."""
        namespace, _, name = self.key.rpartition("/")
        identity = _read(_last(self).raw)
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
            and _read(self.old.raw).metadata.uid != _read(self.new.raw).metadata.uid
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


class _Meta(Struct, frozen=True):
    uid: str = ""


class _Identity(Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: _Meta = _Meta()


def _last(change: Change[K]) -> Entry:
    entry = change.new if change.new is not None else change.old
    assert entry is not None  # something came, or something was there
    return entry


def _read(raw: bytes) -> _Identity:
    try:
        return msgspec.json.decode(raw, type=_Identity)
    except NOT_JSON:
        return _Identity()
