"""The subresources of a pod that a node serves: its log, and commands and connections over WebSockets."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...crd import Violation
from ...objects import parse_time
from ...streams import V4, V5
from .._refusals import Rejection, bad_request, failure, invalid
from .._state import ServerState
from .._streams import Conversation
from ..nodes._commands import CommandStreams
from ..nodes._connections import open_command, open_log, open_ports
from ..nodes._kubelets import PodRun
from ..nodes._logs import LogQuery
from ..nodes._nodes import Nodes
from ..nodes._programs import Behaviour
from ..reading._query import is_true, number, repeated
from ..reading._routes import Route
from ..storage._parts import listed
from ._messages import CACHE, TEXT, ServerRequest, ServerResponse, length, plain_response
from ._subresource_bodies import stored_object

Json = dict[str, Any]
_PARTS: Final = ("containers", "initContainers", "ephemeralContainers")
_MOST_PORTS: Final = 128


def log(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Return the log of a container, or follow it; an empty one where no node is simulated."""
    query, pod = request.query, _pod(route)
    asked = _log_query(state, request)
    name = _container(pod, query.get("container", ""))
    if not pod["spec"].get("nodeName"):
        return ServerResponse(204, (("Cache-Control", "no-cache, private"),), b"")
    served = _served(state, route)
    if served is None:
        return plain_response(200, "")
    stream = open_log(served[1], route.name, name, asked, previous=is_true(query.get("previous")))
    if is_true(query.get("follow")):
        return ServerResponse(200, (CACHE, TEXT, ("Transfer-Encoding", "chunked")), stream)
    text = stream.text
    return ServerResponse(200, (CACHE, TEXT, length(text)), text)


def upgrade(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Run a command, attach to a container, or connect to ports, over a WebSocket."""
    pod = _pod(route)
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {route.name} does not have a host assigned")
    name = "" if route.subresource == "portforward" else _container(pod, request.query.get("container", ""))
    if request.headers.get("upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required")
    served = _served(state, route)
    if served is None:
        node = pod["spec"]["nodeName"]
        raise Rejection(failure(500, f"error dialing backend: node {node} is not simulated", reason=""))
    conversation = _conversation(*served, route, request, name)
    return ServerResponse(101, (("Sec-WebSocket-Protocol", conversation.protocol),), conversation)


def _conversation(
    behaviour: Behaviour, run: PodRun, route: Route, request: ServerRequest, name: str
) -> Conversation:
    if route.subresource == "portforward":
        _agree(request, V4)
        return open_ports(behaviour, run, route.name, route.namespace, _ports(request))
    query = request.query
    streams = CommandStreams(
        stdin=is_true(query.get("stdin")), stdout=is_true(query.get("stdout")),
        stderr=is_true(query.get("stderr")), tty=is_true(query.get("tty")),
    )  # fmt: skip
    if not (streams.stdin or streams.stdout or streams.stderr):
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    command = tuple(repeated(request.head.target, "command")) if route.subresource == "exec" else None
    if command == ():
        raise bad_request("you must specify at least 1 command to execute")
    return open_command(behaviour, run, name, streams, _agree(request, V5, V4), command)


def _agree(request: ServerRequest, *spoken: str) -> str:
    """The protocol to use: the first offer of the client that is supported here."""
    offered = [one.strip() for one in request.headers.get("sec-websocket-protocol", "").split(",")]
    for one in offered:
        if one in spoken:
            return one
    raise bad_request(f"unable to upgrade: {', '.join(offered)} is not one of {', '.join(spoken)}")


def _ports(request: ServerRequest) -> list[int]:
    texts = [one for text in repeated(request.head.target, "ports") for one in text.split(",")]
    ports = [int(one) for one in texts if one.isascii() and one.isdigit() and 0 < int(one) < 1 << 16]
    if not texts or len(ports) != len(texts) or len(ports) > _MOST_PORTS:
        raise bad_request(f"port-forward needs 1 to {_MOST_PORTS} ports, not {','.join(texts)!r}")
    return ports


def _pod(route: Route) -> Json:
    found: Json = msgspec.json.decode(stored_object(route).data)
    return found


def _served(state: ServerState, route: Route) -> tuple[Behaviour, PodRun] | None:
    """The run of a pod and the behaviour of its node; None if no simulated node has it."""
    stored, nodes = stored_object(route), state.nodes
    if not isinstance(nodes, Nodes) or (run := nodes.find(stored.key, stored.uid)) is None:
        return None
    if not nodes.answers(run.node):
        why = f"error dialing backend: dial tcp {run.placement.host_ip}:10250: connect: no route to host"
        raise Rejection(failure(500, why, reason=""))
    return nodes.behaviour, run


def _container(pod: Json, name: str) -> str:
    """The requested container: the one that is named, or the only one."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    names: list[list[str]] = [[one["name"] for one in listed(spec, part)] for part in _PARTS]
    mains, inits, ephemeral = names
    if name:
        if name not in (*mains, *inits, *ephemeral):
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    if len(mains) == 1:
        return mains[0]
    said = f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(mains)}]"
    if inits:
        said += f" or one of the init containers: [{' '.join(inits)}]"
    if ephemeral:
        said += f" or one of the ephemeral containers: [{' '.join(ephemeral)}]"
    raise bad_request(said)


def _log_query(state: ServerState, request: ServerRequest) -> LogQuery:
    query = request.query
    tail, limit = number(query, "tailLines"), number(query, "limitBytes")
    seconds, time = number(query, "sinceSeconds"), query.get("sinceTime")
    found: list[Violation] = []
    if tail is not None and tail < 0:
        text = "must be greater than or equal to 0"
        found.append(Violation("FieldValueInvalid", "tailLines", tail, text))
    for name, value in (("limitBytes", limit), ("sinceSeconds", seconds)):
        if value is not None and value < 1:
            found.append(Violation("FieldValueInvalid", name, value, "must be greater than 0"))
    if seconds is not None and time:
        text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        found.append(Violation("FieldValueForbidden", "", detail=text))
    if query.get("stream"):
        found.append(Violation("FieldValueForbidden", "stream", detail="may not be specified"))
    if found:
        raise invalid("PodLogOptions", "", "", found)
    since = None if seconds is None else state.clock.time - seconds
    if time:
        try:
            since = parse_time(time).timestamp()
        except ValueError:
            raise bad_request(f"invalid sinceTime {time!r}") from None
    return LogQuery(tail=tail, since=since, limit=limit, timestamps=is_true(query.get("timestamps")))
