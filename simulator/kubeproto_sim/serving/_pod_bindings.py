"""The binding subresource of a pod, by which a scheduler assigns the pod to a node."""

from __future__ import annotations

from typing import Any

import msgspec

from kubeproto.crd import Violation

from .._rejections import conflict, invalid
from .._state import ServerState
from ..reading._routes import Route
from ..storage._json_values import member
from ..writing._pod_writes import copy_topology
from ..writing._server_writes import edit
from ._server_responses import ServerRequest, ServerResponse, body_response
from ._subresource_bodies import CREATED, check_body, created_body, stored_object


def bind_pod(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Assign a pod to a node."""
    admitted = created_body(request, route, "core_v1.Binding", "v1")
    check_body(request, route, admitted)
    stored, body = stored_object(route), admitted.obj
    node = member(body, "target").get("name")
    if not node:
        fault = Violation("FieldValueRequired", "target.name")
        raise invalid("Binding", "", route.name, [fault])
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    if bound := obj["spec"].get("nodeName"):
        problem = f"pod {route.name} is already assigned to node {bound!r}".replace("'", '"')
        raise conflict("pods/binding", "", route.name, problem)

    def bind(pod: dict[str, Any]) -> None:
        pod["spec"]["nodeName"] = node
        _copy_metadata(member(body, "metadata"), pod["metadata"], labels=state.release.topology_labels)
        if member(body, "target").get("kind") == "Node":
            copy_topology(state, pod, node)
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        stamp = state.clock.stamp()
        conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp})

    if not request.query.get("dryRun"):
        edit(state, route.served, stored, bind)
    return body_response(201, msgspec.json.encode(CREATED) + b"\n", request, warnings)


def _copy_metadata(source: dict[str, Any], target: dict[str, Any], *, labels: bool) -> None:
    """Copy the annotations of a binding to its pod; with `labels`, as newer releases do, its labels too."""
    for field in ("annotations", "labels") if labels else ("annotations",):
        if values := member(source, field):
            target[field] = {**member(target, field), **values}
