"""The subresources of a pod that its kubelet serves: logs, commands and ports."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubeproto.crd import Violation
from kubeproto.objects import parse_time
from kubeproto.streams import V4, V5

from .._rejections import bad_request, invalid
from .._state import ServerState
from .._streams import Conversation
from ..nodes._container_commands import CommandStreams
from ..nodes._container_connections import failed_command, open_command, open_log, open_ports
from ..nodes._container_logs import LogQuery
from ..nodes._port_tunnels import TUNNEL
from ..reading._query import is_true, number, repeated
from ..reading._routes import Route
from ..storage._json_values import objects_in, quoted
from ..writing._write_gates import SubresourceBody
from ._kubelet_backends import Backend, command_url, find_backend, log_url
from ._server_responses import CACHE, TEXT, ServerRequest, ServerResponse, content_length
from ._subresource_bodies import stored_object

Json = dict[str, Any]
_PARTS: Final = ("containers", "initContainers", "ephemeralContainers")
_MAX_PORTS: Final = 128
_NO_STREAMS: Final = "you must specify at least 1 of stdin, stdout, stderr"
_STREAMS: Final = ("stdin", "stdout", "stderr", "tty")
_OPTIONS: Final = {
    "exec": "PodExecOptions", "attach": "PodAttachOptions", "portforward": "PodPortForwardOptions",
}  # fmt: skip


def send_log(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Respond with the log of a container, or follow it."""
    query, pod = request.query, _pod(route)
    log_query = _log_query(state, request)
    name = _container(pod, query.get("container", ""))
    if not (node := pod["spec"].get("nodeName")):
        return ServerResponse(204, (("Cache-Control", "no-cache, private"),), b"")
    backend = find_backend(state, route, node)
    if backend.pod is None:
        raise backend.refused(f"Get {quoted(log_url(backend, route, name, request))}: ")
    _, run = backend.pod
    stream = open_log(run, route.name, name, log_query, previous=is_true(query.get("previous")))
    if is_true(query.get("follow")):
        return ServerResponse(200, (CACHE, TEXT, ("Transfer-Encoding", "chunked")), stream)
    text = stream.text
    return ServerResponse(200, (CACHE, TEXT, content_length(text)), text)


def open_connection(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Run a command, attach to a container, or connect to ports, over a WebSocket."""
    _check(route, request)
    pod = _pod(route)
    name = "" if route.subresource == "portforward" else _container(pod, request.query.get("container", ""))
    if not (node := pod["spec"].get("nodeName")):
        raise bad_request(f"pod {route.name} does not have a host assigned")
    backend = find_backend(state, route, node)
    if request.headers.get("upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required")
    forwards = route.subresource == "portforward"
    conversation = _ports(backend, route, request) if forwards else _command(backend, route, request, name)
    return ServerResponse(101, (("Sec-WebSocket-Protocol", conversation.protocol),), conversation)


def _check(route: Route, request: ServerRequest) -> None:
    """Pass a connection through policies and webhooks, which see its options and may refuse it."""
    query, options = request.query, dict[str, Any]()
    for name in _STREAMS:
        if is_true(query.get(name)):
            options[name] = True
    if container := query.get("container"):
        options["container"] = container
    if command := repeated(request.raw.target, "command"):
        options["command"] = command
    if route.subresource == "portforward":
        options = {"ports": _port_numbers(request)} if repeated(request.raw.target, "ports") else {}
    body = SubresourceBody(
        api_version="v1", kind=_OPTIONS[route.subresource], operation="CONNECT", obj=options
    )
    gate = request.gates.gate_for(route, query)
    gate.validate_body(msgspec.structs.replace(body, obj=gate.mutate_body(body)))


def _ports(backend: Backend, route: Route, request: ServerRequest) -> Conversation:
    tunnels = _agree(request, V4, TUNNEL) == TUNNEL
    if backend.pod is None:
        raise backend.refused("error dialing backend: ")
    ports = None if tunnels else _port_numbers(request)
    return open_ports(*backend.pod, route.name, route.namespace, ports)


def _command(backend: Backend, route: Route, request: ServerRequest, name: str) -> Conversation:
    query = request.query
    streams = CommandStreams(
        stdin=is_true(query.get("stdin")), stdout=is_true(query.get("stdout")),
        stderr=is_true(query.get("stderr")), tty=is_true(query.get("tty")),
    )  # fmt: skip
    command = tuple(repeated(request.raw.target, "command")) if route.subresource == "exec" else None
    if command == ():
        raise bad_request("you must specify at least 1 command to execute")
    protocol = _agree(request, V5, V4)
    if not (streams.stdin or streams.stdout or (streams.stderr and not streams.tty)):
        # A terminal has no stderr. The kubelet refuses this, after the server has upgraded the client.
        return failed_command(protocol, streams, f"unable to upgrade connection: {_NO_STREAMS}")
    if backend.pod is None:
        # Only for a command this error comes after the upgrade: a server of 1.36 translates the protocol of
        # the kubelet, and upgrades the client first.
        url = command_url(backend, route, name, streams, command or ())
        return failed_command(
            protocol, streams, f"error sending request: Post {quoted(url)}: {backend.reason}"
        )
    return open_command(*backend.pod, name, streams, protocol, command)


def _agree(request: ServerRequest, *supported: str) -> str:
    """Return the protocol to use: the first offer of the client that is supported."""
    offered = [offer.strip() for offer in request.headers.get("sec-websocket-protocol", "").split(",")]
    for offer in offered:
        if offer in supported:
            return offer
    raise bad_request(f"unable to upgrade: {', '.join(offered)} is not one of {', '.join(supported)}")


def _port_numbers(request: ServerRequest) -> list[int]:
    texts = [part for text in repeated(request.raw.target, "ports") for part in text.split(",")]
    ports = [int(text) for text in texts if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16]
    if not texts or len(ports) != len(texts) or len(ports) > _MAX_PORTS:
        raise bad_request(f"port-forward needs 1 to {_MAX_PORTS} ports, not {','.join(texts)!r}")
    return ports


def _pod(route: Route) -> Json:
    pod: Json = msgspec.json.decode(stored_object(route).data)
    return pod


def _container(pod: Json, name: str) -> str:
    """Return the requested container, or the only container."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    names: list[list[str]] = [[container["name"] for container in objects_in(spec, part)] for part in _PARTS]
    containers, init_containers, ephemeral = names
    if name:
        if name not in (*containers, *init_containers, *ephemeral):
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    if len(containers) == 1:
        return containers[0]
    message = (
        f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(containers)}]"
    )
    if init_containers:
        message += f" or one of the init containers: [{' '.join(init_containers)}]"
    if ephemeral:
        message += f" or one of the ephemeral containers: [{' '.join(ephemeral)}]"
    raise bad_request(message)


def _log_query(state: ServerState, request: ServerRequest) -> LogQuery:
    query = request.query
    tail, limit = number(query, "tailLines"), number(query, "limitBytes")
    seconds, time = number(query, "sinceSeconds"), query.get("sinceTime")
    violations: list[Violation] = []
    if tail is not None and tail < 0:
        text = "must be greater than or equal to 0"
        violations.append(Violation("FieldValueInvalid", "tailLines", tail, text))
    for name, value in (("limitBytes", limit), ("sinceSeconds", seconds)):
        if value is not None and value < 1:
            violations.append(Violation("FieldValueInvalid", name, value, "must be greater than 0"))
    if seconds is not None and time:
        text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        violations.append(Violation("FieldValueForbidden", "", detail=text))
    if query.get("stream"):
        violations.append(Violation("FieldValueForbidden", "stream", detail="may not be specified"))
    if violations:
        raise invalid("PodLogOptions", "", "", violations)
    since = None if seconds is None else state.clock.time - seconds
    if time:
        try:
            since = parse_time(time).timestamp()
        except ValueError:
            raise bad_request(f"invalid sinceTime {time!r}") from None
    return LogQuery(tail=tail, since=since, limit=limit, timestamps=is_true(query.get("timestamps")))
