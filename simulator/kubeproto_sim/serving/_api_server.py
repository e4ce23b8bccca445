"""`Server`: returns the response to each request, and changes the state of the cluster.

Nothing here waits. A response has a `delay`, the time that a real server would have taken, and a watch is a
stream that fills as the clock advances. The driver of the server decides when time passes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.wire import RawRequest

from .._rejections import (
    InvalidRejection,
    PlainRejection,
    Rejection,
    bad_request,
    initializing,
    not_found,
    unexplained,
    version_too_large,
)
from .._state import ServerState
from ..access._attributes import Attributes
from ..access._authorizer import Authorizer, Caller
from ..access._users import User, authenticated
from ..admission._webhook_calls import Replies, WebhookHandlers
from ..admission._webhook_conversion import WebhookConversions
from ..kinds._kubernetes_releases import NEWEST
from ..kinds._release_wording import in_release_wording
from ..kinds._served_kinds import ServedKind
from ..kinds._typed_codec import go_escaped
from ..reading._list_requests import (
    ListResult,
    invalid_version as _invalid_version,
    list_body,
    list_objects,
    read_version,
)
from ..reading._negotiation import (
    accepts_plainly,
    accepts_yaml,
    check_arity,
    negotiate,
    takes_gzip,
)
from ..reading._object_views import Viewer
from ..reading._open_watches import OpenWatches
from ..reading._query import ListQuery, Query, is_true, list_options, seconds, split_target, write_options
from ..reading._routes import Route, Routes
from ..reading._watch_streams import open_watch
from ..writing._object_deletion import DeleteOptions, delete, read_delete_options
from ..writing._patch_requests import APPLY, check_media, patch
from ..writing._request_bodies import check_size, read_object
from ..writing._write_gates import Gate
from ._discovery_documents import discovery_response
from ._request_gates import AdmissionChain, patch_writer_for, writer_for
from ._review_requests import handle_review
from ._server_responses import (
    CACHE,
    JSON,
    TEXT,
    YAML,
    ServerRequest,
    ServerResponse,
    body_response,
    content_length,
    object_response,
    plain_response,
    warning_headers,
    write_response,
)
from ._subresource_handlers import handle_subresource

_ORPHANS: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove"
    " them or set propagationPolicy=Orphan to suppress this warning"
)
_REQUEST_TIMEOUT: Final = 60.0  # --request-timeout
_TIMEOUT_STATUS: Final = (
    b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted'
    b' timeout","reason":"Timeout","details":{},"code":504}\n'
)


class Server:
    """Responds to requests from the state of the cluster, and changes this state."""

    def __init__(self, state: ServerState, access: Authorizer, webhooks: WebhookHandlers) -> None:
        self.state = state
        self.access = access
        self.chain = AdmissionChain(state, webhooks)
        self.conversions = state.kinds.converter = WebhookConversions(state, webhooks)
        self.routes = Routes(state.kinds)
        self.watches = OpenWatches()
        state.on_generation = self.watches.wake_all

    def respond(
        self, request: RawRequest, user: User | None = None, replies: Replies | None = None
    ) -> ServerResponse:
        """Respond to a request. A refusal is a response, too, and such a request has changed nothing.

        `user` is the user that the transport has authenticated; without it the headers of the request
        determine the user. `replies` are those of webhooks that earlier attempts of this request have called.
        """
        waits: list[float] = []
        conversions = self.conversions
        saved_context = conversions.begin(replies)
        try:
            response = self._respond(request, user, replies, waits)
            waited = sum(waits) + conversions.waited
        finally:
            conversions.end(saved_context)
        return _delayed(response, waited, request) if waited else response

    def gate_of_controller(self, user: str, route: Route) -> Gate:
        """Return the gate of a write by a controller, which has the permissions of its service account."""
        attributes = Attributes(
            verb=route.verb, group=route.served.group, version=route.served.version,
            resource=route.served.plural, subresource=route.subresource, name=route.name,
            namespace=route.namespace,
        )  # fmt: skip
        caller = Caller(self.access, authenticated(User(user)), attributes)
        return self.chain.gates_for(caller, None, [], []).gate_for(route, {})

    def _respond(
        self, request: RawRequest, user: User | None, replies: Replies | None, waits: list[float]
    ) -> ServerResponse:
        headers = {name.lower(): value for name, value in request.headers}
        warnings: list[str] = []
        try:
            response = self._handle(request, user, replies, headers, warnings, waits)
            return response if request.method != "HEAD" else msgspec.structs.replace(response, body=b"")
        except Rejection as rejection:
            return self._refusal(rejection, headers, warnings)
        except PlainRejection as rejection:
            return plain_response(rejection.code, rejection.text, rejection.headers)

    def _handle(
        self,
        request: RawRequest,
        user: User | None,
        replies: Replies | None,
        headers: dict[str, str],
        warnings: list[str],
        waits: list[float],
    ) -> ServerResponse:
        path, query = split_target(request.target)
        caller = self.access.admit(request, headers, path, query, user)
        check_size(request.body)
        if (limit := query.get("timeout")) is not None and not is_true(query.get("watch")):
            allowed = _allowed_time(limit)
            if 0 < allowed < 1e-3:
                return ServerResponse(
                    504, (CACHE, content_length(_TIMEOUT_STATUS), TEXT), _TIMEOUT_STATUS, delay=allowed
                )
        route = self.routes.find(request.method, path, query)
        if not isinstance(route, Route):
            return discovery_response(self.state, request, route, query, headers)
        response_format = negotiate(headers.get("accept", ""), route.verb, route.served)
        gates = self.chain.gates_for(caller, replies, warnings, waits)
        server_request = ServerRequest(request, path, query, headers, response_format, caller, gates)
        served = route.served
        if served.warning:
            warnings.append(served.warning)
        if (hold := self._seconds_until_ready(route)) and route.verb != "create":
            raise initializing()
        if route.subresource not in ("", "status"):
            return handle_subresource(self.state, route, server_request, warnings)
        response = self._dispatch(route, server_request, warnings)
        return msgspec.structs.replace(response, delay=response.delay + hold) if hold else response

    def _seconds_until_ready(self, route: Route) -> float:
        """Return the seconds until the storage of a new kind is ready.

        Creations take this time, and other requests are refused. (A real server delays creations by two
        seconds, so that all servers know the definition.)
        """
        if not self.state.release.refuses_new_kinds:
            return 0.0
        return max(route.served.ready_at - self.state.clock.time, 0.0)

    def _dispatch(self, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
        match route.verb:
            case "get":
                return self._get(route, request, warnings)
            case "list":
                return self._list(route, request, warnings)
            case "watch":
                return self._watch(route, request, warnings)
            case "create":
                if route.served.verbs == frozenset(("create",)):
                    return handle_review(self.state, route, request, warnings)
                write_options(request.query, "CreateOptions")
                writer = writer_for(self.state, route, request, warnings)
                written = writer.create(*self._read_body(route, request))
                return write_response(self.state, route, request, writer, written)
            case "update":
                write_options(request.query, "UpdateOptions")
                writer = writer_for(self.state, route, request, warnings)
                written = writer.replace(*self._read_body(route, request))
                return write_response(self.state, route, request, writer, written)
            case "patch":
                return self._patch(route, request, warnings)
            case "delete":
                return self._delete(route, request, warnings)
            case _:
                return self._delete_collection(route, request, warnings)

    def _read_body(self, route: Route, request: ServerRequest) -> tuple[dict[str, Any], list[str]]:
        served, media = route.served, request.headers.get("content-type", "")
        return read_object(request.raw.body, media, served.kind, custom=served.custom)

    def _get(self, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
        served, state = route.served, self.state
        if text := request.query.get("resourceVersion"):
            version = read_version(text)
            if version is None:
                raise unexplained(f"resourceVersion: {_invalid_version(text)}")
            if version > state.reached:
                modes = state.modes
                raise version_too_large(version, state.reached, modes.too_large, cached=modes.watch_cache)
        stored = served.storage.objects.get(served.key(route.namespace, route.name))
        if stored is None:
            raise not_found(served.plural, served.group, route.name)
        return object_response(self.state, route, request, stored.data, warnings)

    def _list(self, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
        options = self._list_options(request.query, watching=False)
        with route.served.reading(cached=self.state.modes.watch_cache):
            page = list_objects(self.state, route, options)
            check_arity(request.response_format, route.served, as_list=True)
            viewer = Viewer(
                route.served, request.response_format.view, request.query.get("includeObject", "")
            )
            body = list_body(route.served, viewer, page, self.state.clock.time)
        return body_response(200, body, request, warnings)

    def _list_options(self, query: Query, *, watching: bool) -> ListQuery:
        """Return the options of a list or watch that this release supports, or refuse the request."""
        streaming, sharded = self.state.streaming_lists, self.state.release.shards
        return list_options(query, watching=watching, streaming_lists=streaming, sharded=sharded)

    def _watch(self, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
        modes, query = self.state.modes, request.query
        if route.watched:
            query = query | {"fieldSelector": f"metadata.name={route.watched}"}
        options = self._list_options(query, watching=True)
        viewer = Viewer(route.served, request.response_format.view, query.get("includeObject", ""))
        gzip = (
            modes.compress_watches
            and bool(options.initial_events and options.bookmarks)
            and takes_gzip(request.headers.get("accept-encoding", ""))
        )
        with route.served.reading(cached=modes.watch_cache):
            watch = open_watch(self.state, route, options, viewer, gzip=gzip)
        watch.driver_calls_webhooks = self.conversions.driver_calls_webhooks
        if not watch.ended:
            self.watches.add(watch)
        too_early = (
            watch.ended and options.initial_events and modes.watch_cache and options.version not in ("", "0")
        )
        extra = [("Content-Encoding", "gzip")] if gzip else []
        headers = (CACHE, *extra, JSON, *warning_headers(warnings), ("Transfer-Encoding", "chunked"))
        return ServerResponse(200, headers, watch, delay=3.0 if too_early else 0.0)

    def _patch(self, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
        content_type = request.headers.get("content-type", "")
        check_media(route.served, content_type)
        write_options(request.query, "PatchOptions", applying=content_type.startswith(APPLY))
        writer = patch_writer_for(self.state, route, request, warnings)
        written = patch(writer, request.raw.body, content_type, request.query)
        return write_response(self.state, route, request, writer, written)

    def _delete(self, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
        served = route.served
        options = read_delete_options(
            request.query, request.raw.body, request.headers.get("content-type", "")
        )
        _warn_of_orphans(served, options, warnings)
        gate = request.gates.gate_for(route, request.query)
        deleted = delete(
            self.state, served, served.key(route.namespace, route.name), route.name, options, gate
        )
        status = 202 if options.orphan_dependents is False and not deleted.is_removed else 200
        if deleted.data is not None:
            return body_response(status, served.encode_response(deleted.data) + b"\n", request, warnings)
        details = {"name": route.name}
        if served.group:
            details["group"] = served.group
        details |= {"kind": served.plural, "uid": deleted.uid}
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return body_response(200, msgspec.json.encode(body) + b"\n", request, warnings)

    def _delete_collection(self, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
        served = route.served
        listing = self._list_options(request.query, watching=False)
        options = read_delete_options(
            request.query, request.raw.body, request.headers.get("content-type", "")
        )
        _warn_of_orphans(served, options, warnings)
        page = list_objects(self.state, route, listing)
        gate = request.gates.gate_for(route, request.query)
        for stored in page.objects:
            try:
                delete(self.state, served, stored.key, stored.name, options, gate)
            except Rejection as rejection:
                if rejection.code != 404:
                    raise
        deleted = ListResult(
            page.objects, self.state.reached if not listing.version else page.version, page.token
        )
        body = list_body(served, Viewer(served, "object"), deleted, self.state.clock.time)
        return body_response(200, body, request, warnings)

    def _refusal(self, rejection: Rejection, headers: dict[str, str], warnings: list[str]) -> ServerResponse:
        release = self.state.release
        if isinstance(rejection, InvalidRejection) and release is not NEWEST:
            rejection = rejection.reworded(
                lambda violation, group: in_release_wording(violation, release.minor, group)
            )
        accept, content_type = headers.get("accept", ""), JSON
        body = msgspec.json.encode(rejection.status)
        if accepts_yaml(accept):
            from kubeproto.yaml import write_documents

            body = write_documents([dict(sorted(rejection.status.items()))]).encode()
            content_type = YAML
        elif accepts_plainly(accept):
            body = go_escaped(body + b"\n")
        else:
            body = go_escaped(msgspec.json.format(body, indent=2))
        retry = (("Retry-After", str(rejection.retry_after)),) if rejection.retry_after else ()
        response_headers = (CACHE, content_type, *retry, *warning_headers(warnings), content_length(body))
        return ServerResponse(rejection.code, response_headers, body, rejection.delay)


def _delayed(response: ServerResponse, waited: float, request: RawRequest) -> ServerResponse:
    """Return a response delayed by its webhooks, or 504 if the delay exceeds the timeout of the request."""
    limit = split_target(request.target)[1].get("timeout")
    allowed = _allowed_time(limit) if limit else _REQUEST_TIMEOUT
    if isinstance(response.body, bytes) and 0 < allowed < waited:
        return ServerResponse(
            504, (CACHE, content_length(_TIMEOUT_STATUS), TEXT), _TIMEOUT_STATUS, delay=allowed
        )
    return msgspec.structs.replace(response, delay=response.delay + waited)


def _allowed_time(limit: str) -> float:
    """Return the value of `timeout` in seconds, or refuse with 400 and the message of Go's parser."""
    allowed = seconds(limit)
    if allowed is not None:
        return allowed
    quoted_limit = msgspec.json.encode(limit).decode()
    unit = limit.lstrip("0123456789.")
    if limit.isdigit():
        problem = f"time: missing unit in duration {quoted_limit}"
    elif unit.isalpha() and unit != limit:
        problem = f"time: unknown unit {msgspec.json.encode(unit).decode()} in duration {quoted_limit}"
    else:
        problem = f"time: invalid duration {quoted_limit}"
    raise bad_request(f"invalid timeout specified in the request URL - {problem}")


def _warn_of_orphans(served: ServedKind, options: DeleteOptions, warnings: list[str]) -> None:
    """Warn if a Job is deleted without a propagation policy, which orphans its pods."""
    silent = options.propagation_policy is None and options.orphan_dependents is None
    if served.full_name == "jobs.batch" and silent:
        warnings.append(_ORPHANS)
