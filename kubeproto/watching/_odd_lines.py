"""What is no event of the kind that was asked for, and is read all the same: as far as it can be."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import NOT_JSON, ObjectMeta
from ..wire import Headers, read_status
from ._events import Failed, Malformed, Unknown

# As much of a refusal's body as is kept. Go's client quotes 2 KiB of a foreign page; a Status is no longer.
_MAX_REFUSAL: Final = 1024 * 1024

_KNOWN: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")


class Refusal:
    """The body of an answer outside 2xx: one Status, whatever it looks like."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self, status: int, headers: Headers) -> None:
        self._status = status
        self._headers = headers
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Keep what a Status may need."""
        self._body += chunk[: _MAX_REFUSAL - len(self._body)]

    def failed(self) -> Failed:
        """The one event of this answer."""
        return Failed(read_status(self._status, self._headers, bytes(self._body)))


class _Anything(Struct):
    type: str | None = None
    object: Raw | None = None
    kind: str | None = None
    items: Raw | None = None


class _Meta(Struct):
    metadata: ObjectMeta


_read_anything: Final = msgspec.json.Decoder(_Anything).decode
_read_meta: Final = msgspec.json.Decoder(_Meta).decode
_read_json: Final = msgspec.json.Decoder(Raw).decode


def is_json(line: bytes) -> bool:
    """True for blanks and for one JSON value: a line that only lacks its end."""
    try:
        _read_json(line)
    except NOT_JSON:
        return not line.strip()
    return True


def read_odd_line(line: bytes, error: Exception, kind: str) -> Failed | Malformed | Unknown | None:
    """What a line is that could not be decoded as an event of this kind; None for a blank one."""
    try:
        found = _read_anything(line)
    except NOT_JSON:
        return _no_event(line, error) if line.strip() else None
    match found:
        case _Anything(type=str(type_), object=Raw() as obj):
            if type_ not in _KNOWN:
                return Failed(read_status(0, (), bytes(obj))) if type_ == "ERROR" else Unknown(type_, line)
            meta = read_metadata(obj)
            return Malformed(meta, InvalidObject(f"{name_of(kind, meta)}: {error}"), line, type_)
        case _Anything(type=None, object=None, kind="Status"):
            return Failed(read_status(0, (), line))
        case _Anything(type=None, items=Raw()):
            raise RemoteProtocolError(f"a {found.kind or 'list'} came where a watch of {kind} was asked for")
        case _:
            return _no_event(line, error)


def _no_event(line: bytes, error: Exception) -> Malformed:
    return Malformed(None, RemoteProtocolError(f"no event of a watch: {error}"), line)


def read_metadata(obj: bytes | Raw) -> ObjectMeta | None:
    """The metadata of an object that does not fit otherwise, if that much can be read."""
    try:
        return _read_meta(obj).metadata
    except NOT_JSON:
        return None


def name_of(kind: str, meta: ObjectMeta | None) -> str:
    """How an error names an object."""
    if meta is None or not meta.name:
        return kind
    return f"{kind} {meta.namespace}/{meta.name}" if meta.namespace else f"{kind} {meta.name}"
