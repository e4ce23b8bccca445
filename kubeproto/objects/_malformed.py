"""Items of lists and lines of watches that are not objects of their kind."""

from __future__ import annotations

from msgspec import Struct

from ._meta import ObjectMeta


class Malformed(Struct, frozen=True, gc=False):
    """An item of a list, or a line of a watch, that is not an object of this kind. The stream continues.

    `metadata` is what could be read of the object's, `type` the event's type if that could be read.
    """

    metadata: ObjectMeta | None
    error: Exception
    raw: bytes
    type: str = ""

    def __repr__(self) -> str:
        # The content may be a Secret, and events are printed and logged.
        about = f"metadata={self.metadata!r}, error={self.error!r}"
        return f"Malformed({about}, raw=<{len(self.raw)} bytes>, type={self.type!r})"
