"""`WatchDecoder`: the bytes of a watch, cut anywhere, become events."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from .._errors import RemoteProtocolError
from ..objects import KubeObject, ObjectMeta, Status
from ..wire import Headers, read_status
from ._events import Added, Bookmark, Deleted, Failed, Malformed, Modified, WatchEvent

K = TypeVar("K", bound=KubeObject)


class _BookmarkObject(msgspec.Struct):
    metadata: ObjectMeta


class _Bookmark(msgspec.Struct, tag_field="type", tag="BOOKMARK"):
    object: _BookmarkObject


class _Error(msgspec.Struct, tag_field="type", tag="ERROR"):
    object: Status


class WatchDecoder(Generic[K]):
    """Decodes one watch of one kind. `feed` gives the events of a chunk, `finish` what the end leaves."""

    def __init__(self, kind: type[K], *, status: int = 200, headers: Headers = ()) -> None:
        self._decode = msgspec.json.Decoder(
            Added[kind] | Modified[kind] | Deleted[kind] | _Bookmark | _Error  # type: ignore[valid-type]
        ).decode
        self._status = status
        self._headers = headers
        self._rest = b""

    def feed(self, chunk: bytes) -> list[WatchEvent[K]]:
        """Take the next bytes; give the events that are complete."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [self._event(line) for line in lines if self._status == 200]

    def finish(self) -> list[WatchEvent[K]]:
        """The stream has ended."""
        if self._status != 200:
            return [Failed(read_status(self._status, self._headers, self._rest))]
        if self._rest:
            raise RemoteProtocolError("the watch ended inside an event")
        return []

    def _event(self, line: bytes) -> WatchEvent[K]:
        try:
            event = self._decode(line)
        except msgspec.MsgspecError as error:
            return Malformed(None, error, line)
        if isinstance(event, _Bookmark):
            return Bookmark(event.object.metadata.resource_version)
        return Failed(event.object) if isinstance(event, _Error) else event
