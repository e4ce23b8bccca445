"""A page of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
from msgspec import Struct

from ._malformed import Malformed
from ._meta import ListMeta

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class ObjectList(Struct, Generic[T], kw_only=True):
    """A list as the server sends it: the items of one page, and the page's own metadata.

    Items that do not fit the kind are in `malformed`, so that one bad object does not hide the others.
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
