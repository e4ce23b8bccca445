"""`Source`: the text of an object and its members, from the first use of a part on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw

from ._scanning import split_object

if TYPE_CHECKING:
    from collections.abc import Mapping


_NULL: Final = Raw(b"null")


class Source:
    """A text with its members, and those of its metadata. No encoder accepts it as a value."""

    __slots__ = ("members", "metadata", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.members = split_object(text)
        metadata = self.members.get("metadata")
        self.metadata = {} if metadata is None or metadata == _NULL else split_object(metadata)

    def __repr__(self) -> str:
        return f"Source(<{len(self.text)} bytes>)"

    def __reduce__(self) -> Any:
        return Source, (self.text,)


_write: Final = msgspec.json.Encoder().encode


def join_members(texts: Mapping[str, bytes | Raw]) -> bytes:
    """Return a JSON object with these members."""
    return b"{" + b",".join(_write(key) + b":" + bytes(text) for key, text in texts.items()) + b"}"


_HEAD: Final = ("kind", "apiVersion", "metadata")
_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion")


def extract_identity(text: bytes) -> bytes:
    """Return the identity of an object that is nested too deeply for msgspec."""
    head = {key: raw for key, raw in split_object(text).items() if key in _HEAD}
    if "metadata" in head:
        identity = {key: raw for key, raw in split_object(head["metadata"]).items() if key in _IDENTITY}
        head["metadata"] = Raw(join_members(identity))
    return join_members(head)
