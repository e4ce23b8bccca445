"""The ways in which successful responses are read, each a value."""

from __future__ import annotations

from typing import Final, Generic, TypeVar, get_origin

from msgspec import Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import Dynamic, KubeObject, Metadata, ObjectList, Resource, Status, decode
from ..objects._shared import check_json
from ..watching import WatchDecoder, WatchEvent, read_page
from ..wire import Decoder, Head, Headers, header

T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)

_QUOTED: Final = 200


def read_json(type_: type[T], headers: Headers, body: bytes) -> T:
    """Return the body as this type; if it is not JSON, the error says what arrived instead.

    Broken JSON is never quoted: half a Secret is still a secret.
    """
    try:
        return decode(body, type_)
    except InvalidObject:
        problem = _why_no_json(headers, body)
        if problem:
            raise RemoteProtocolError(problem) from None
        raise


def _why_no_json(headers: Headers, body: bytes) -> str:
    if not body.strip():
        return "its body is empty"
    try:
        check_json(body)
    except InvalidObject as error:
        if body.lstrip()[:1] in (b"{", b"["):
            return f"its JSON is broken: {error}"
        media = header(headers, "content-type") or "something of no type"
        return f"its body is {media} and no JSON: {body[:_QUOTED].decode('utf-8', 'replace')!r}"
    return ""


class One(Struct, Generic[K], frozen=True):
    """One object. `resource` says what it must be where its class does not."""

    kind: type[K]
    resource: Resource | None = None

    def read(self, status: int, headers: Headers, body: bytes) -> K:
        """Return the object."""
        # A long object is read from its front, and the rest when it is used: too late to notice that the
        # response was cut short. Scanning it once costs a tenth of what reading it would.
        problem = _why_no_json(headers, body)
        if problem:
            raise RemoteProtocolError(problem)
        obj = read_json(self.kind, headers, body)
        if self.resource is not None:
            _check_kind(obj, self.resource)
        return obj


def _check_kind(obj: KubeObject, resource: Resource) -> None:
    expected = [resource.kind]
    if isinstance(obj, Metadata):
        expected += ["PartialObjectMetadata"]
    if obj.kind not in expected:
        raise InvalidObject(f"its body is a {obj.kind or 'thing without a kind'}, no {' or '.join(expected)}")


class DocumentIdentity(Struct):
    """The kind and apiVersion of a document."""

    kind: str = ""
    apiVersion: str = ""  # noqa: N815 # the wire's spelling


class OneOrStatus(Struct, Generic[K], frozen=True):
    """The object that is being deleted, or the Status that says it is deleted."""

    one: One[K]

    def read(self, status: int, headers: Headers, body: bytes) -> K | Status:
        """Return the object or the Status."""
        if _is_status(headers, body):
            return decode(body, Status)
        return self.one.read(status, headers, body)


def _is_status(headers: Headers, body: bytes) -> bool:
    said = read_json(DocumentIdentity, headers, body)
    return said.kind == "Status" and said.apiVersion in ("v1", "meta.k8s.io/v1")


class DeletedReading(Struct, frozen=True):
    """A Status that reports success."""

    def read(self, status: int, headers: Headers, body: bytes) -> Status:
        """Return the Status."""
        if not _is_status(headers, body):
            raise InvalidObject("its body is not a Status")
        return decode(body, Status)


class Many(Struct, Generic[K], frozen=True):
    """A page of objects."""

    kind: type[K]
    resource: Resource

    def read(self, status: int, headers: Headers, body: bytes) -> ObjectList[K]:
        """Return the page. An item that does not fit is in `malformed`, and does not hide the others."""
        try:
            page = read_page(body, self.kind, resource=self.resource)
        except RemoteProtocolError:
            if problem := _why_no_json(headers, body):
                raise RemoteProtocolError(problem) from None
            raise
        return page


class ManyOrStatus(Struct, Generic[K], frozen=True):
    """What was deleted of a collection, or the Status that reports success."""

    many: Many[K]

    def read(self, status: int, headers: Headers, body: bytes) -> ObjectList[K] | Status:
        """Return the page or the Status."""
        if _is_status(headers, body):
            return decode(body, Status)
        return self.many.read(status, headers, body)


class Plain(Struct, Generic[T], frozen=True):
    """Any JSON of one type; if `named`, it must be of this kind."""

    type: type[T]
    named: str = ""

    def read(self, status: int, headers: Headers, body: bytes) -> T:
        """Return the value."""
        if self.named:
            said = read_json(DocumentIdentity, headers, body)
            if said.kind != self.named:
                raise InvalidObject(f"its body is a {said.kind or 'thing without a kind'}, no {self.named}")
        return read_json(self.type, headers, body)


class Text(Struct, frozen=True):
    """A string, such as a log. It is empty with a 204: a pod that was never on a node."""

    def read(self, status: int, headers: Headers, body: bytes) -> str:
        """Return the text; bytes that are not UTF-8 become U+FFFD, because a log may contain anything."""
        return body.decode("utf-8", "replace")


class WatchReading(Struct, Generic[K], frozen=True):
    """A watch."""

    kind: type[K]

    def open(self, request: Head, status: int, headers: Headers) -> Decoder[WatchEvent[K]]:
        """Return a decoder of this watch's events."""
        return WatchDecoder(self.kind, status=status, headers=headers)


def reads_any_kind(kind: type[KubeObject]) -> bool:
    """Return True for the depths whose classes do not say which kind they read."""
    return issubclass(get_origin(kind) or kind, Metadata | Dynamic)
