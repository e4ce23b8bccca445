"""The ways in which good answers are read, each a value."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

from ..objects import KubeObject, ObjectList, Status, decode
from ..watching import WatchDecoder, WatchEvent
from ..wire import Decoder, Headers

K = TypeVar("K", bound=KubeObject)


class One(Struct, Generic[K], frozen=True):
    """One object."""

    kind: type[K]

    def read(self, body: bytes, headers: Headers) -> K:
        """The object."""
        return decode(body, self.kind)


class OneOrStatus(Struct, Generic[K], frozen=True):
    """The object that is being deleted, or the Status that says it is gone."""

    kind: type[K]

    def read(self, body: bytes, headers: Headers) -> K | Status:
        """The object or the Status."""
        status = decode(body, Status)
        return status if status.status in ("Success", "Failure") else decode(body, self.kind)


class Many(Struct, Generic[K], frozen=True):
    """A page of objects."""

    kind: type[K]

    def read(self, body: bytes, headers: Headers) -> ObjectList[K]:
        """The page."""
        return decode(body, ObjectList[self.kind])  # type: ignore[name-defined]


class Events(Struct, Generic[K], frozen=True):
    """A watch."""

    kind: type[K]

    def open(self, status: int, headers: Headers) -> Decoder[WatchEvent[K]]:
        """A decoder of this watch's events."""
        return WatchDecoder(self.kind, status=status, headers=headers)
