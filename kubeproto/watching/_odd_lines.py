"""Lines that are not events of the requested kind: they are read as far as possible."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw, Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import Metadata, ObjectMeta, Reader, TooDeep, members, settle
from ..objects._shared import KindViews, Malformed, read_whole, views_of
from ..wire import Headers, header, read_status
from ._events import Added, Deleted, Modified, Unknown, WatchFailed

# As much of a refusal's body as is kept. Go's client quotes 2 KiB of a foreign page; a Status is shorter.
_MAX_REFUSAL: Final = 1024 * 1024

_GZIP: Final = b"\x1f\x8b"
_KNOWN: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")


class Refusal:
    """The body of a response outside 2xx: one Status, whatever it looks like."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self, status: int, headers: Headers) -> None:
        self._status = status
        self._headers = headers
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Keep what a Status may need."""
        self._body += chunk[: _MAX_REFUSAL - len(self._body)]

    def failed(self) -> WatchFailed:
        """Return the one event of this response."""
        body = bytes(self._body)
        return WatchFailed(
            read_status(self._status, self._headers, body if body.startswith(_GZIP) else _as_utf8(body))
        )


def check_content_type(headers: Headers, what: str) -> None:
    """Refuse the two encodings that a server has besides JSON: no request here asks for them."""
    content_type = header(headers, "content-type")
    if "protobuf" in content_type.lower() or "cbor" in content_type.lower():
        raise RemoteProtocolError(f"{what} came as {content_type!r}, although JSON was requested")


_NOTHING: Final = Raw(b"")


class _Anything(Struct):
    type: str = ""
    kind: str = ""
    # Within a union msgspec would not use a Raw for anything.
    object: Raw = _NOTHING
    items: Raw = _NOTHING


_read_anything: Final = Reader[_Anything](_Anything).read
_read_text: Final = Reader[str](str).read
_CHANGES: Final[dict[str, Any]] = {"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted}


def read_change(line: bytes, views: KindViews, *, strict: bool, error: InvalidObject | None = None) -> Any:
    """Return the event on a line, whatever else it has; None if it is not an event of an object.

    Its object is read separately, so it may be nested to any depth. If it does not fit, the earlier `error`
    is raised, if there was one.
    """
    found = _anything(line)
    change = _CHANGES.get(found.type)
    if change is None or found.object is _NOTHING:
        return None
    try:
        return change(read_whole(bytes(found.object), views, strict=strict))
    except InvalidObject as refusal:
        raise refusal if error is None or isinstance(error, TooDeep) else error from None


def read_failure(text: bytes | Raw) -> WatchFailed:
    """Return the failure that a Status inside a watch means. A malformed part must not hide its message."""
    return WatchFailed(read_status(0, (), _as_utf8(bytes(text))))


def _as_utf8(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode()


def read_odd_line(line: bytes, error: Exception, kind: str) -> WatchFailed | Malformed | Unknown | None:
    """Return the event of a line that could not be decoded as one of this kind; None for a blank line."""
    try:
        found = _anything(line)
    except InvalidObject:
        return _no_event(line, error) if line.strip() else None
    obj = found.object
    if found.type and obj is not _NOTHING:
        if found.type == "ERROR":
            return read_failure(obj)
        if found.type not in _KNOWN:
            return Unknown(found.type, line)
        meta = read_metadata(obj)
        return Malformed(meta, InvalidObject(f"{name_of(kind, meta)}: {error}"), line, found.type)
    if found.type or obj is not _NOTHING:
        return _no_event(line, error, found.type)
    if found.kind == "Status":
        return read_failure(line)
    if found.items is not _NOTHING or found.kind == "Table":
        raise RemoteProtocolError(f"a {found.kind or 'list'} came although a watch of {kind} was requested")
    return _no_event(line, error)


def _no_event(line: bytes, error: Exception, type_: str = "") -> Malformed:
    return Malformed(None, RemoteProtocolError(f"not an event of a watch: {error}"), line, type_)


def _anything(line: bytes) -> _Anything:
    try:
        return _read_anything(line)
    except TooDeep:
        found = members(line)
    return _Anything(
        _read_text(found.get("type", b'""')),
        _read_text(found.get("kind", b'""')),
        found.get("object", _NOTHING),
        found.get("items", _NOTHING),
    )


def read_metadata(obj: bytes | Raw) -> ObjectMeta | None:
    """Return the metadata of an object that does not fit, if that can be read."""
    data = bytes(obj)
    try:
        found = read_whole(data, views_of(Metadata), strict=False).metadata
        if "metadata" not in members(data):
            return None
    except InvalidObject:
        return None
    try:
        return settle(found)
    except InvalidObject:
        return ObjectMeta(
            name=found.name,
            namespace=found.namespace,
            uid=found.uid,
            resource_version=found.resource_version,
        )


def name_of(kind: str, meta: ObjectMeta | None) -> str:
    """Return how an error names an object."""
    if meta is None or not meta.name:
        return kind
    return f"{kind} {meta.namespace}/{meta.name}" if meta.namespace else f"{kind} {meta.name}"
