"""Lines of a watch that cannot be decoded as events of its kind; and refusals, the bodies of errors."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw, Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import Metadata, ObjectMeta, Reader, TooDeep, members, to_plain
from ..objects._shared import KindViews, Malformed, read_whole, views_of
from ..wire import Headers, header, read_status
from ._events import Added, Deleted, Modified, Unknown, WatchFailed

# The rest of a longer refusal is dropped. Go's client quotes 2 KiB of a foreign page; a Status is shorter.
_MAX_REFUSAL: Final = 1024 * 1024

_GZIP: Final = b"\x1f\x8b"
_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")


class Refusal:
    """The body of a response outside 2xx, which is read as one Status."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self, status: int, headers: Headers) -> None:
        self._status = status
        self._headers = headers
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._body += chunk[: _MAX_REFUSAL - len(self._body)]

    def failed(self) -> WatchFailed:
        """Return the one event of this response."""
        body = bytes(self._body)
        return WatchFailed(
            read_status(self._status, self._headers, body if body.startswith(_GZIP) else _as_utf8(body))
        )


def check_content_type(headers: Headers, response: str) -> None:
    """Refuse the two encodings that a server has besides JSON: no request here asks for them."""
    content_type = header(headers, "content-type")
    if "protobuf" in content_type.lower() or "cbor" in content_type.lower():
        raise RemoteProtocolError(f"{response} came as {content_type!r}, although JSON was requested")


_MISSING: Final = Raw(b"")


class _Envelope(Struct):
    type: str = ""
    kind: str = ""
    # Within a union msgspec would not use a Raw for anything.
    object: Raw = _MISSING
    items: Raw = _MISSING


_read_envelope_fields: Final = Reader[_Envelope](_Envelope).read
_read_text: Final = Reader[str](str).read
_CHANGES: Final[dict[str, Any]] = {"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted}


def read_change(line: bytes, views: KindViews, *, strict: bool, error: InvalidObject | None = None) -> Any:
    """Return the event on a line that may have other keys too; None if it is not an event of an object.

    Its object is read separately, so it may be nested to any depth. If the object does not fit, the earlier
    `error` is raised, if there was one.
    """
    envelope = _read_envelope(line)
    change = _CHANGES.get(envelope.type)
    if change is None or envelope.object is _MISSING:
        return None
    try:
        return change(read_whole(bytes(envelope.object), views, strict=strict))
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
        envelope = _read_envelope(line)
    except InvalidObject:
        return _no_event(line, error) if line.strip() else None
    obj = envelope.object
    if envelope.type and obj is not _MISSING:
        if envelope.type == "ERROR":
            return read_failure(obj)
        if envelope.type not in _TYPES:
            return Unknown(envelope.type, line)
        metadata = read_metadata(obj)
        problem = InvalidObject(f"{name_of(kind, metadata)}: {error}")
        return Malformed(metadata, problem, line, envelope.type)
    if envelope.type or obj is not _MISSING:
        return _no_event(line, error, envelope.type)
    if envelope.kind == "Status":
        return read_failure(line)
    if envelope.items is not _MISSING or envelope.kind == "Table":
        raise RemoteProtocolError(
            f"a {envelope.kind or 'list'} came although a watch of {kind} was requested"
        )
    return _no_event(line, error)


def _no_event(line: bytes, error: Exception, type_: str = "") -> Malformed:
    return Malformed(None, RemoteProtocolError(f"not an event of a watch: {error}"), line, type_)


def _read_envelope(line: bytes) -> _Envelope:
    try:
        return _read_envelope_fields(line)
    except TooDeep:
        texts = members(line)
    return _Envelope(
        _read_text(texts.get("type", b'""')),
        _read_text(texts.get("kind", b'""')),
        texts.get("object", _MISSING),
        texts.get("items", _MISSING),
    )


def read_metadata(obj: bytes | Raw) -> ObjectMeta | None:
    """Return the metadata of an object that does not fit its kind; None if that is unreadable too."""
    data = bytes(obj)
    try:
        metadata = read_whole(data, views_of(Metadata), strict=False).metadata
        if "metadata" not in members(data):
            return None
    except InvalidObject:
        return None
    try:
        return to_plain(metadata)
    except InvalidObject:
        return ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        )


def name_of(kind: str, metadata: ObjectMeta | None) -> str:
    """Return the name of an object for an error."""
    if metadata is None or not metadata.name:
        return kind
    namespace = f"{metadata.namespace}/" if metadata.namespace else ""
    return f"{kind} {namespace}{metadata.name}"
