"""The handlers of all subresources except status, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from .._rejections import conflict, unknown_resource
from .._state import ServerState
from ..reading._query import write_options
from ..reading._routes import Route
from ..storage._json_values import member, strings_in
from ..writing._object_writer import WriteResult
from ..writing._patch_requests import check_media, patch
from ..writing._pod_writes import POD_PARTS
from ..writing._request_bodies import read_object
from ..writing._server_writes import remove
from ._evictions import evict_pod
from ._pod_bindings import bind_pod
from ._pod_connections import open_connection, send_log
from ._request_gates import patch_writer_for, writer_for
from ._scale_subresource import handle_scale
from ._server_responses import ServerRequest, ServerResponse, object_response, write_response
from ._subresource_bodies import read_body, stored_object
from ._token_requests import create_token


def handle_subresource(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Respond to a request for a subresource."""
    respond = _SUBRESOURCES.get(route.subresource)
    if respond is None:
        raise unknown_resource()
    return respond(state, route, request, warnings)


def _finalize(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Set the finalizers of a namespace.

    A namespace that is being deleted is removed with its last finalizer.
    """
    stored, served = stored_object(route), route.served
    body = read_body(request, "core_v1.Namespace")
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    finalizers = strings_in(member(body, "spec"), "finalizers")
    obj["spec"] = {"finalizers": finalizers} if finalizers else {}
    if body.get("metadata", {}).get("resourceVersion", str(stored.version)) != str(stored.version):
        raise conflict(served.plural, served.group, route.name)
    main = msgspec.structs.replace(route, subresource="finalize")
    written = writer_for(state, main, request, warnings).store(stored, obj)
    if obj["metadata"].get("deletionTimestamp") and not finalizers and not obj["metadata"].get("finalizers"):
        remove(state, served, served.storage.objects[stored.key])
    return object_response(state, route, request, written.data, warnings)


def _as_object(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Read or write the object by a subresource whose body is the object."""
    if route.verb == "get":
        return object_response(state, route, request, stored_object(route).data, warnings)
    is_part = route.subresource in (*POD_PARTS, "approval")
    main = route if is_part else msgspec.structs.replace(route, subresource="")
    if route.verb == "patch":
        write_options(request.query, "PatchOptions")
        patcher = patch_writer_for(state, main, request, warnings, request_route=route)
        content_type = request.headers.get("content-type", "")
        check_media(route.served, content_type)
        written: WriteResult = patch(patcher, request.raw.body, content_type, request.query)
        return write_response(state, route, request, patcher, written)
    write_options(request.query, "UpdateOptions")
    writer = writer_for(state, main, request, warnings, request_route=route)
    written = writer.replace(
        *read_object(request.raw.body, request.headers.get("content-type", ""), route.served.kind)
    )
    return write_response(state, route, request, writer, written)


_Respond = Callable[[ServerState, Route, ServerRequest, list[str]], ServerResponse]
_SUBRESOURCES: Final[dict[str, _Respond]] = {
    "scale": handle_scale,
    "eviction": evict_pod,
    "binding": bind_pod,
    "token": create_token,
    "finalize": _finalize,
    "ephemeralcontainers": _as_object,
    "resize": _as_object,
    "approval": _as_object,
    "log": send_log,
    "exec": open_connection,
    "attach": open_connection,
    "portforward": open_connection,
}
