"""A real server copies labels of nodes and bindings to pods like the simulated server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_topology_labels import sender
from topology_cases import placed

import kubeproto_sim as sim
from kubeproto.wire import RawRequest
from kubeproto_httpx import BlockingHttpxTransport
from realserver import RealServer


@pytest.mark.kubernetes("1.36")
def test_pods_get_the_topology_labels_of_their_node(real_server: RealServer) -> None:
    with BlockingHttpxTransport(real_server.connection) as transport:

        def send(method: str, target: str, body: Any) -> Any:
            data = b"" if method in ("GET", "DELETE") else json.dumps(body).encode()
            request = RawRequest(method, target, (("Content-Type", "application/json"),), data)
            with transport.send(request, timeout=60) as incoming:
                response_body = b"".join(incoming)
            assert incoming.status < 300, response_body
            return json.loads(response_body)

        real_labels = placed(send, real=True)
        for name in ("placed", "unplaced"):
            send("DELETE", f"/api/v1/nodes/{name}", {})
    assert placed(sender(sim.Cluster())) == real_labels
