"""`ServerRequest` and `ServerResponse`, and the responses that have a complete body.

An object is sent in the requested view: complete, its metadata, or a table.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from kubeproto.wire import Headers, RawRequest

from .._rejections import failure
from .._state import ServerState
from .._streams import Stream
from ..access._authorizer import Caller
from ..reading._negotiation import ResponseFormat, check_arity, takes_gzip, wants_indented
from ..reading._object_views import Viewer
from ..reading._query import Query
from ..reading._routes import Route
from ..writing._object_writer import Writer, WriteResult
from ..writing._write_gates import Gate

CACHE: Final = ("Cache-Control", "no-cache, private")
JSON: Final = ("Content-Type", "application/json")
YAML: Final = ("Content-Type", "application/yaml")
TEXT: Final = ("Content-Type", "text/plain; charset=utf-8")
_COMPRESSED_ABOVE: Final = 128 * 1024


class ServerResponse(Struct, frozen=True):
    """A response. The body is bytes, or an open watch; the response takes `delay` seconds."""

    status: int
    headers: Headers
    body: bytes | Stream
    delay: float = 0.0


class GateFactory(Protocol):
    """Makes the gates of a request."""

    def gate_for(self, route: Route, query: Query) -> Gate:
        """Return the gate for the writes of this route."""
        ...


class ServerRequest(Struct, frozen=True):
    """A parsed request; its headers have lower-case names."""

    raw: RawRequest
    path: str
    query: Query
    headers: dict[str, str]
    response_format: ResponseFormat
    caller: Caller
    gates: GateFactory

    @property
    def manager(self) -> str:
        """The default field manager of a write: the first part of the user agent."""
        return self.headers.get("user-agent", "").partition("/")[0] or "unknown"


def body_response(status: int, body: bytes, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Return a response with a complete body: as YAML, indented or compressed as requested."""
    content_type = JSON
    if request.response_format.yaml:
        from kubeproto.yaml import write_documents

        in_order = msgspec.json.encode(msgspec.json.decode(body), order="sorted")
        body = write_documents([msgspec.json.decode(in_order)]).encode()
        content_type = YAML
    elif wants_indented(request.headers.get("user-agent", ""), request.query.get("pretty")):
        body = msgspec.json.format(body, indent=2) + b"\n"
    if len(body) > _COMPRESSED_ABOVE and takes_gzip(request.headers.get("accept-encoding", "")):
        import zlib

        member = zlib.compressobj(level=4, wbits=31)
        body = member.compress(body) + member.flush()
        encoded = (("Content-Encoding", "gzip"), content_type, ("Vary", "Accept-Encoding"))
        return ServerResponse(
            status, (CACHE, *encoded, *warning_headers(warnings), content_length(body)), body
        )
    return ServerResponse(
        status, (CACHE, content_type, *warning_headers(warnings), content_length(body)), body
    )


def plain_response(code: int, text: str, headers: Headers = ()) -> ServerResponse:
    """Return a response in plain text."""
    body = text.encode()
    return ServerResponse(code, (CACHE, TEXT, *headers, content_length(body)), body)


def status_response(code: int, message: str, details: dict[str, Any] | None = None) -> ServerResponse:
    """Return a failure that does not come from the server itself, such as an injected fault."""
    body = msgspec.json.encode(failure(code, message, details)) + b"\n"
    return ServerResponse(code, (CACHE, JSON, content_length(body)), body)


def warning_headers(warnings: list[str]) -> Headers:
    """Return the Warning headers of a response."""
    if not warnings:
        return ()
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in warnings]
    return tuple(("Warning", f'299 - "{text}"') for text in quoted)


def content_length(body: bytes) -> tuple[str, str]:
    """Return the Content-Length header of a body."""
    return ("Content-Length", str(len(body)))


def write_response(
    state: ServerState, route: Route, request: ServerRequest, writer: Writer, written: WriteResult
) -> ServerResponse:
    """Return the response to a write."""
    status = 201 if written.created else 200
    return object_response(state, route, request, written.data, writer.warnings, status=status)


def object_response(
    state: ServerState,
    route: Route,
    request: ServerRequest,
    data: bytes,
    warnings: list[str],
    status: int = 200,
) -> ServerResponse:
    """Return an object in the requested form."""
    check_arity(request.response_format, route.served, as_list=False)
    view = request.response_format.view
    if view == "object":
        return body_response(status, route.served.encode_response(data) + b"\n", request, warnings)
    viewer = Viewer(route.served, view, request.query.get("includeObject", ""))
    if view == "table":
        version = int(msgspec.json.decode(data)["metadata"].get("resourceVersion", 0))
        body = viewer.watched(data, version, state.clock.time)
    else:
        body = viewer.object(data)
    return body_response(status, body + b"\n", request, warnings)
