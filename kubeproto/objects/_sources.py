"""`Source`: the text that an object was read from, and its members, once something of it has been touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from ._scanning import members

if TYPE_CHECKING:
    from collections.abc import Mapping


class Source:
    """A text with its members, and those of its metadata. No encoder takes it for a value."""

    __slots__ = ("members", "metadata", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.members = members(text)
        metadata = self.members.get("metadata")
        self.metadata = {} if metadata is None or bytes(metadata) == b"null" else members(metadata)

    def __repr__(self) -> str:
        return f"Source(<{len(self.text)} bytes>)"

    def __reduce__(self) -> Any:
        return Source, (self.text,)


_write: Final = msgspec.json.Encoder().encode


def joined(found: Mapping[str, bytes | Raw]) -> bytes:
    """Return the JSON object that has these members."""
    return b"{" + b",".join(_write(key) + b":" + bytes(text) for key, text in found.items()) + b"}"
