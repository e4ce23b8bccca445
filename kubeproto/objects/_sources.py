"""`Source`: the text that an object was read from, and its members, once a part of it has been used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from ._scanning import members

if TYPE_CHECKING:
    from collections.abc import Mapping


_NULL: Final = Raw(b"null")


class Source:
    """A text with its members, and those of its metadata. No encoder accepts it as a value."""

    __slots__ = ("members", "metadata", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.members = members(text)
        metadata = self.members.get("metadata")
        self.metadata = {} if metadata is None or metadata == _NULL else members(metadata)

    def __repr__(self) -> str:
        return f"Source(<{len(self.text)} bytes>)"

    def __reduce__(self) -> Any:
        return Source, (self.text,)


_write: Final = msgspec.json.Encoder().encode


def joined(found: Mapping[str, bytes | Raw]) -> bytes:
    """Return the JSON object that has these members."""
    return b"{" + b",".join(_write(key) + b":" + bytes(text) for key, text in found.items()) + b"}"


_HEAD: Final = ("kind", "apiVersion", "metadata")
_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion")


def shallow(text: bytes) -> bytes:
    """Return only the identity of an object that is nested too deeply to be decoded at once."""
    found = {key: raw for key, raw in members(text).items() if key in _HEAD}
    if "metadata" in found:
        own = {key: raw for key, raw in members(found["metadata"]).items() if key in _IDENTITY}
        found["metadata"] = Raw(joined(own))
    return joined(found)
