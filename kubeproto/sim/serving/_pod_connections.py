"""The subresources of a pod that a node serves: its binding to a node, its log, and its connections."""

from __future__ import annotations

from typing import Any

import msgspec

from ...crd import Violation
from .._refusals import bad_request, conflict, invalid, unsupported_media
from .._state import ServerState
from ..reading._routes import Route
from ..storage._parts import member
from ..writing._edits import edit
from ._messages import ServerRequest, ServerResponse, body_response, plain_response
from ._subresource_bodies import CREATED, read_body, stored_object


def binding(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Assign a pod to a node."""
    stored = stored_object(route)
    body = read_body(request, "core_v1.Binding")
    node = member(body, "target").get("name")
    if not node:
        fault = Violation("FieldValueRequired", "target.name")
        raise invalid("Binding", "", route.name, [fault])
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    if bound := obj["spec"].get("nodeName"):
        why = f"pod {route.name} is already assigned to node {bound!r}".replace("'", '"')
        raise conflict("pods/binding", "", route.name, why)

    def bind(pod: dict[str, Any]) -> None:
        pod["spec"]["nodeName"] = node
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        stamp = state.clock.stamp()
        conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp})

    if not request.query.get("dryRun"):
        edit(state, route.served, stored, bind)
    return body_response(201, msgspec.json.encode(CREATED) + b"\n", request, warnings)


def log(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Return an empty log: the containers of simulated pods do not run."""
    pod = msgspec.json.decode(stored_object(route).data)
    if not pod["spec"].get("nodeName"):
        return ServerResponse(204, (("Cache-Control", "no-cache, private"),), b"")
    names = [one["name"] for one in pod["spec"]["containers"]]
    if (container := request.query.get("container")) and container not in names:
        raise bad_request(f"container {container} is not valid for pod {route.name}")
    return plain_response(200, "")


def upgrade(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Refuse a request to switch protocols: the containers of simulated pods do not run."""
    pod = msgspec.json.decode(stored_object(route).data)
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {route.name} does not have a host assigned")
    if request.headers.get("upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required")
    raise unsupported_media()
