"""Pods on nodes without a kubelet, and a server's responses about their logs, commands and ports.

The node "addressed" has an address without a listener, "bare" has no address, and "nowhere" does not exist.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/namespaces/default/pods"
MERGE: Final = "application/merge-patch+json"
JSON: Final = "application/json"
ADDRESS: Final = "127.0.0.1:1"
STATUS: Final[dict[str, Any]] = {
    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
}
UPGRADE: Final = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
}


def pod(node: str) -> dict[str, Any]:
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"on-{node}"}, "spec": spec}


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


# The requests that create the initial objects: method, target, body and media type.
SET_UP: Final[list[tuple[str, str, Any, str]]] = [
    ("POST", NODES, node("bare"), JSON),
    ("POST", NODES, node("addressed"), JSON),
    ("PATCH", f"{NODES}/addressed/status", {"status": STATUS}, MERGE),
    *(("POST", PODS, pod(name), JSON) for name in ("nowhere", "bare", "addressed")),
]


class RefusedRequest(Struct, frozen=True):
    """A request about a pod, with or without an upgrade, and the server's refusal."""

    node: str
    path: str
    code: int
    message: str
    is_upgrade: bool = False

    @property
    def target(self) -> str:
        return f"{PODS}/on-{self.node}/{self.path}"


NO_NODE: Final = 'pods "nowhere" not found'
NO_ADDRESS: Final = "no preferred addresses found; known addresses: []"
DIAL: Final = f"dial tcp {ADDRESS}: connect: connection refused"
LOGS: Final = f"https://{ADDRESS}/containerLogs/default/on-addressed/c"
REFUSED_REQUESTS: Final = (
    RefusedRequest("nowhere", "log", 404, NO_NODE),
    RefusedRequest("nowhere", "log?container=x", 400, "container x is not valid for pod on-nowhere"),
    RefusedRequest("nowhere", "exec?command=ls&stdout=true", 404, NO_NODE),
    RefusedRequest("nowhere", "exec?command=ls&stdout=true", 404, NO_NODE, is_upgrade=True),
    RefusedRequest("nowhere", "portforward?ports=80", 404, NO_NODE, is_upgrade=True),
    RefusedRequest("bare", "log?follow=true", 500, NO_ADDRESS),
    RefusedRequest("bare", "attach?stdout=true", 500, NO_ADDRESS, is_upgrade=True),
    RefusedRequest("addressed", "log", 500, f'Get "{LOGS}": {DIAL}'),
    RefusedRequest("addressed", "log?follow=true", 500, f'Get "{LOGS}?follow=true": {DIAL}'),
    RefusedRequest(
        "addressed", "log?timestamps=true&tailLines=3&previous=true", 500,
        f'Get "{LOGS}?previous=true&tailLines=3&timestamps=true": {DIAL}',
    ),
    RefusedRequest("addressed", "exec?command=ls&stdout=true", 400, "Upgrade request required"),
    RefusedRequest(
        "addressed", "portforward?ports=80", 500, f"error dialing backend: {DIAL}", is_upgrade=True,
    ),
)  # fmt: skip

# The error that a client receives for a command, after the upgrade.
COMMAND_ERROR: Final = (
    f'Internal error occurred: error sending request: Post "https://{ADDRESS}/exec/default/on-addressed/c'
    f'?command=ls&error=1&output=1": {DIAL}'
)
