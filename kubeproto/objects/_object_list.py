"""A page of objects, with the items that do not fit their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
from msgspec import Struct

from ._object_meta import ListMeta, ObjectMeta

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class Malformed(Struct, frozen=True, gc=False):
    """An item of a list, or a line of a watch, that is not an object of its kind. The stream continues.

    `metadata` is the readable metadata of the object, `type` the readable type of the event.
    """

    metadata: ObjectMeta | None
    error: Exception
    raw: bytes
    type: str = ""

    def __repr__(self) -> str:
        # The content may be a Secret, and events are printed and logged.
        fields = f"metadata={self.metadata!r}, error={self.error!r}"
        return f"Malformed({fields}, raw=<{len(self.raw)} bytes>, type={self.type!r})"


class ObjectList(Struct, Generic[T], kw_only=True):
    """A page of a list, with its metadata.

    Items that do not fit the kind are in `malformed`, so that a bad object does not hide the others.
    """

    items: list[T]
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    malformed: list[Malformed] = []

    @property
    def version(self) -> str:
        """The resource version that a watch continues from; the same on every page of a list."""
        return self.metadata.resource_version

    @property
    def next_page(self) -> str:
        """The token of the next page; empty on the last."""
        return self.metadata.continue_

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
