"""The simulated server behind the cases: an administrator in process, and "nobody" by a token."""

from __future__ import annotations

import json
from typing import Any, Final

from access_cases import Ask

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

ADMIN: Final = sim.User("admin", "1", ("system:masters",))
NOBODY: Final = sim.User("nobody", "2")


def simulated() -> sim.Cluster:
    """A cluster that asks its roles."""
    return sim.Cluster(authorization="RBAC", tokens={"nobody-token": NOBODY}, populated=True)


def sender(cluster: sim.Cluster) -> Any:
    """A function that sends a request to the cluster as its user."""

    def send(ask: Ask) -> tuple[int, Any]:
        body = b"" if ask.body is None else json.dumps(ask.body).encode()
        media = "application/merge-patch+json" if ask.method == "PATCH" else "application/json"
        headers = (("Accept", "application/json"), ("Content-Type", media), *ask.headers)
        user: sim.User | None = ADMIN
        if ask.by == "nobody":
            headers, user = (*headers, ("Authorization", "Bearer nobody-token")), None
        answer = cluster.respond(RawRequest(ask.method, ask.target, headers, body), user)
        if not isinstance(answer.body, bytes):
            answer.body.close()
            return answer.status, None
        try:
            return answer.status, json.loads(answer.body)
        except ValueError:
            return answer.status, None

    return send
