"""The two other depths of a kind: `Metadata[Book]` has only the metadata, `Dynamic` reads any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import msgspec

from ._base import KubeObject

# Covariant, so that Metadata[Pod] is accepted where Metadata[RunsContainers] is.
if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import TypeVar  # the checkers know its `default`; typing's has one since 3.13

    K_co = TypeVar("K_co", bound=KubeObject, covariant=True, default=KubeObject)
else:
    from typing import TypeVar

    K_co = TypeVar("K_co", bound=KubeObject, covariant=True)


class Metadata(KubeObject, Generic[K_co]):
    """Any object, reduced to its metadata. The server omits the other fields, so a watch costs little."""


class Dynamic(KubeObject):
    """An object of a kind without a class: everything except its metadata stays plain JSON.

    ``deployment["spec"]["replicas"]`` reads and writes the attributes of a typed object; unknown fields
    survive a read, change and write.
    """

    content: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.content[key] = value

    def __delitem__(self, key: str) -> None:
        del self.content[key]

    def __contains__(self, key: object) -> bool:
        return key in self.content

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a top-level field other than the metadata, or `default`."""
        return self.content.get(key, default)
