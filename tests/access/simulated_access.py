"""The simulated server for the cases of access: an administrator in process, and "nobody" with a token."""

from __future__ import annotations

import json
from typing import Any, Final

from access_cases import AccessRequest

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

ADMIN: Final = sim.User("admin", "1", ("system:masters",))
NOBODY: Final = sim.User("nobody", "2")


def simulated_cluster() -> sim.Cluster:
    """Return a cluster with RBAC."""
    return sim.Cluster(authorization="RBAC", tokens={"nobody-token": NOBODY}, populated=True)


def make_sender(cluster: sim.Cluster) -> Any:
    """Return a function that sends a request to the cluster as the user of the request."""

    def send(request: AccessRequest) -> tuple[int, Any]:
        body = b"" if request.body is None else json.dumps(request.body).encode()
        content_type = "application/merge-patch+json" if request.method == "PATCH" else "application/json"
        headers = (("Accept", "application/json"), ("Content-Type", content_type), *request.headers)
        user: sim.User | None = ADMIN
        if request.by == "nobody":
            headers, user = (*headers, ("Authorization", "Bearer nobody-token")), None
        response = cluster.respond(RawRequest(request.method, request.target, headers, body), user)
        if not isinstance(response.body, bytes):
            response.body.close()
            return response.status, None
        try:
            return response.status, json.loads(response.body)
        except ValueError:
            return response.status, None

    return send
