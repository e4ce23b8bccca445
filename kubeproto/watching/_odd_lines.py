"""Read lines of a watch that are not events of its kind, and the bodies of error responses."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw, Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import Metadata, ObjectMeta, Reader, TooDeep, split_object, to_plain
from ..objects._shared import KindViews, Malformed, read_object, views_of
from ..wire import Headers, header, read_status
from ._watch_events import Added, Deleted, Modified, Unknown, WatchFailed

# The rest of a longer body is dropped. Go's client quotes 2 KiB of a foreign page; a Status is shorter.
_MAX_ERROR_BODY: Final = 1024 * 1024

_GZIP: Final = b"\x1f\x8b"
_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")


class ErrorBody:
    """The body of a response outside 2xx, which is read as a single Status."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self, status: int, headers: Headers) -> None:
        self._status = status
        self._headers = headers
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._body += chunk[: _MAX_ERROR_BODY - len(self._body)]

    def to_event(self) -> WatchFailed:
        """Return the only event of this response."""
        body = bytes(self._body)
        return WatchFailed(
            read_status(self._status, self._headers, body if body.startswith(_GZIP) else _as_utf8(body))
        )


def check_content_type(headers: Headers, response: str) -> None:
    """Refuse the two encodings that a server has besides JSON; no request of kubeproto accepts them."""
    content_type = header(headers, "content-type")
    if "protobuf" in content_type.lower() or "cbor" in content_type.lower():
        raise RemoteProtocolError(
            f"{response} has the Content-Type {content_type!r}, although JSON was requested"
        )


_MISSING: Final = Raw(b"")


class _Envelope(Struct):
    type: str = ""
    kind: str = ""
    # `Raw | UnsetType` would not work: within a union msgspec decodes the value.
    object: Raw = _MISSING
    items: Raw = _MISSING


_read_envelope_fields: Final = Reader[_Envelope](_Envelope).read
_read_string: Final = Reader[str](str).read
_CHANGES: Final[dict[str, Any]] = {"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted}


def read_change(line: bytes, views: KindViews, *, strict: bool, error: InvalidObject | None = None) -> Any:
    """Return the event on a line that may have other keys too; None if it is not an event of an object.

    The object is read separately, so it may be nested to any depth. If it does not fit, the `error` of an
    earlier attempt is raised instead, if there was one.
    """
    envelope = _read_envelope(line)
    change = _CHANGES.get(envelope.type)
    if change is None or envelope.object is _MISSING:
        return None
    try:
        return change(read_object(bytes(envelope.object), views, strict=strict))
    except InvalidObject as misfit:
        raise misfit if error is None or isinstance(error, TooDeep) else error from None


def read_failure(text: bytes | Raw) -> WatchFailed:
    """Return the event of a Status inside a watch. A malformed part must not hide the message of the
    Status."""
    return WatchFailed(read_status(0, (), _as_utf8(bytes(text))))


def _as_utf8(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode()


def read_odd_line(line: bytes, error: Exception, kind: str) -> WatchFailed | Malformed | Unknown | None:
    """Return the event of a line that could not be decoded as one of this kind; None for a blank line."""
    try:
        envelope = _read_envelope(line)
    except InvalidObject:
        return _not_an_event(line, error) if line.strip() else None
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
        return _not_an_event(line, error, envelope.type)
    if envelope.kind == "Status":
        return read_failure(line)
    if envelope.items is not _MISSING or envelope.kind == "Table":
        raise RemoteProtocolError(
            f"the response is a {envelope.kind or 'list'} although a watch of {kind} was requested"
        )
    return _not_an_event(line, error)


def _not_an_event(line: bytes, error: Exception, type_: str = "") -> Malformed:
    return Malformed(None, RemoteProtocolError(f"not an event of a watch: {error}"), line, type_)


def _read_envelope(line: bytes) -> _Envelope:
    try:
        return _read_envelope_fields(line)
    except TooDeep:
        members = split_object(line)
    return _Envelope(
        _read_string(members.get("type", b'""')),
        _read_string(members.get("kind", b'""')),
        members.get("object", _MISSING),
        members.get("items", _MISSING),
    )


def read_metadata(obj: bytes | Raw) -> ObjectMeta | None:
    """Return the metadata of an object that does not fit its kind; None if the metadata does not fit
    either."""
    data = bytes(obj)
    try:
        metadata = read_object(data, views_of(Metadata), strict=False).metadata
        if "metadata" not in split_object(data):
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
