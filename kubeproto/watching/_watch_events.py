"""The events of a watch. The type parameter is the class of their objects: typed, Metadata or Dynamic."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from ..objects import KubeObject, Status, encode
from ..objects._shared import Malformed, received_text

T = TypeVar("T")


def _text_of(obj: Any) -> bytes:
    text = received_text(obj) if isinstance(obj, KubeObject) else None
    return encode(obj) if text is None else text


class Added(
    Struct, Generic[T], frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="ADDED"
):
    """An object is new to this watch."""

    object: T

    @property
    def raw(self) -> bytes:
        """The object's JSON as the server sent it; raise `InvalidObject` if it is broken."""
        return _text_of(self.object)


class Modified(
    Struct, Generic[T], frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="MODIFIED"
):
    """An object has changed."""

    object: T

    @property
    def raw(self) -> bytes:
        """The object's JSON as the server sent it; raise `InvalidObject` if it is broken."""
        return _text_of(self.object)


class Deleted(
    Struct, Generic[T], frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="DELETED"
):
    """An object was deleted, or no longer matches the selector. This is its last known state."""

    object: T

    @property
    def raw(self) -> bytes:
        """The object's JSON as the server sent it; raise `InvalidObject` if it is broken."""
        return _text_of(self.object)


CHANGES: Final[frozenset[type]] = frozenset((Added, Modified, Deleted))


class Bookmark(Struct, frozen=True, gc=False):
    """Nothing changed up to this version. `initial_events_end`: the streaming list is complete."""

    version: str
    initial_events_end: bool = False


class WatchFailed(Struct, frozen=True, gc=False):
    """The server ends the watch and gives the reason, such as a 410."""

    status: Status


class Unknown(Struct, frozen=True, gc=False):
    """An event of a type that this version of the library does not know."""

    type: str
    raw: bytes

    def __repr__(self) -> str:
        return f"Unknown(type={self.type!r}, raw=<{len(self.raw)} bytes>)"


WatchEvent: TypeAlias = Added[T] | Modified[T] | Deleted[T] | Bookmark | WatchFailed | Malformed | Unknown
