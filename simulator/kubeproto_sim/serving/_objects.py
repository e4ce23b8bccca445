"""Objects as responses, in the form that the request asked for: complete, their metadata, or a table."""

from __future__ import annotations

import msgspec

from .._state import ServerState
from ..reading._negotiation import check_arity
from ..reading._routes import Route
from ..reading._views import Viewer
from ..writing._writes import Writer, Written
from ._messages import ServerRequest, ServerResponse, body_response


def write_response(
    state: ServerState, route: Route, request: ServerRequest, writer: Writer, written: Written
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
    """Return an object in the form that the request asks for."""
    check_arity(request.accepted, route.served, listed=False)
    view = request.accepted.view
    if view == "object":
        return body_response(status, route.served.shown(data) + b"\n", request, warnings)
    viewer = Viewer(route.served, view, request.query.get("includeObject", ""))
    if view == "table":
        version = int(msgspec.json.decode(data)["metadata"].get("resourceVersion", 0))
        body = viewer.watched(data, version, state.clock.time)
    else:
        body = viewer.object(data)
    return body_response(status, body + b"\n", request, warnings)
