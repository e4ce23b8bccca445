"""How successful responses are read: a value for each kind of response."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from msgspec import Struct

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import KubeObject, Metadata, ObjectList, Resource, Status, decode
from ..objects._shared import check_json
from ..watching import WatchDecoder, WatchEvent, read_page
from ..wire import Decoder, Headers, RawRequest, header

T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)

_MAX_QUOTED_CHARS: Final = 200


def read_json(type_: type[T], headers: Headers, body: bytes) -> T:
    """Return the body as this type, or raise an error that describes a body that is not JSON.

    Invalid JSON is never quoted: half a Secret is still a secret.
    """
    try:
        return decode(body, type_)
    except InvalidObject:
        if problem := _find_json_problem(headers, body):
            raise RemoteProtocolError(problem) from None
        raise


def _find_json_problem(headers: Headers, body: bytes) -> str:
    if not body.strip():
        return "its body is empty"
    try:
        check_json(body)
    except InvalidObject as error:
        if body.lstrip()[:1] in (b"{", b"["):
            return f"its body is invalid JSON: {error}"
        media = header(headers, "content-type")
        described = f"is {media}, not" if media else "has no Content-Type and is not"
        return f"its body {described} JSON: {body[:_MAX_QUOTED_CHARS].decode('utf-8', 'replace')!r}"
    return ""


class DocumentIdentity(Struct):
    """The kind and apiVersion of a document."""

    kind: str = ""
    apiVersion: str = ""  # noqa: N815 # the wire's spelling


def _check_kind(kind: str, *expected: str) -> None:
    if kind not in expected:
        described = f"is a {kind}" if kind else "has no kind"
        raise InvalidObject(f"its body {described}, not a {' or '.join(expected)}")


class ObjectParser(Struct, Generic[K], frozen=True):
    """An object. `resource` is its expected kind where the class reads any kind."""

    kind: type[K]
    resource: Resource | None = None

    def parse(self, status: int, headers: Headers, body: bytes) -> K:
        """Return the object."""
        # Of a long object only the front is decoded, and the rest when it is used: too late to notice that
        # the response was truncated. Scanning it once costs a tenth of decoding it.
        if problem := _find_json_problem(headers, body):
            raise RemoteProtocolError(problem)
        obj = read_json(self.kind, headers, body)
        if self.resource is not None:
            partial = ("PartialObjectMetadata",) if isinstance(obj, Metadata) else ()
            _check_kind(obj.kind, self.resource.kind, *partial)
        return obj  # pyright: ignore[reportUnknownVariableType] # a K, which isinstance has narrowed


class ObjectOrStatusParser(Struct, Generic[K], frozen=True):
    """The response to a deletion: the object while it is being deleted, or a Status when it is deleted."""

    object_parser: ObjectParser[K]

    def parse(self, status: int, headers: Headers, body: bytes) -> K | Status:
        """Return the object or the Status."""
        if _is_status(headers, body):
            return decode(body, Status)
        return self.object_parser.parse(status, headers, body)


def _is_status(headers: Headers, body: bytes) -> bool:
    identity = read_json(DocumentIdentity, headers, body)
    return identity.kind == "Status" and identity.apiVersion in ("v1", "meta.k8s.io/v1")


class StatusParser(Struct, frozen=True):
    """A Status that reports success."""

    def parse(self, status: int, headers: Headers, body: bytes) -> Status:
        """Return the Status."""
        if not _is_status(headers, body):
            raise InvalidObject("its body is not a Status")
        return decode(body, Status)


class PageParser(Struct, Generic[K], frozen=True):
    """A page of objects."""

    kind: type[K]
    resource: Resource

    def parse(self, status: int, headers: Headers, body: bytes) -> ObjectList[K]:
        """Return the page. An item that does not fit is in `malformed`, and does not hide the others."""
        try:
            return read_page(body, self.kind, resource=self.resource)
        except RemoteProtocolError:
            if problem := _find_json_problem(headers, body):
                raise RemoteProtocolError(problem) from None
            raise


class PageOrStatusParser(Struct, Generic[K], frozen=True):
    """The response to the deletion of a collection: the deleted objects, or a Status."""

    page_parser: PageParser[K]

    def parse(self, status: int, headers: Headers, body: bytes) -> ObjectList[K] | Status:
        """Return the page or the Status."""
        if _is_status(headers, body):
            return decode(body, Status)
        return self.page_parser.parse(status, headers, body)


class JsonParser(Struct, Generic[T], frozen=True):
    """JSON of any type; `expected_kind` is its kind if that is fixed."""

    type: type[T]
    expected_kind: str = ""

    def parse(self, status: int, headers: Headers, body: bytes) -> T:
        """Return the value."""
        if self.expected_kind:
            _check_kind(read_json(DocumentIdentity, headers, body).kind, self.expected_kind)
        return read_json(self.type, headers, body)


class TextParser(Struct, frozen=True):
    """A text, such as a log. It is empty with a 204: a pod that was never on a node."""

    def parse(self, status: int, headers: Headers, body: bytes) -> str:
        """Return the text; bytes that are not UTF-8 become U+FFFD, because a log may contain anything."""
        return body.decode("utf-8", "replace")


class WatchOpener(Struct, Generic[K], frozen=True):
    """A watch."""

    kind: type[K]

    def open(self, request: RawRequest, status: int, headers: Headers) -> Decoder[WatchEvent[K]]:
        """Return a decoder of the events."""
        return WatchDecoder(self.kind, status=status, headers=headers)
