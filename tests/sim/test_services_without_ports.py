"""Services that forward nothing themselves need no ports, as on a real server; all others do."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kubeproto_sim as sim
from kubeproto.wire import RawRequest


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"type": "ExternalName", "externalName": "example.com"}, 201),
        ({"clusterIP": "None"}, 201),
        ({"clusterIP": "None", "ports": []}, 201),
        ({}, 422),
        ({"type": "NodePort"}, 422),
    ],
)
def test_a_service_that_forwards_requires_ports(spec: dict[str, Any], status: int) -> None:
    body = json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode()
    headers = (("Content-Type", "application/json"),)
    answer = sim.Cluster().respond(RawRequest("POST", "/api/v1/namespaces/default/services", headers, body))
    assert answer.status == status
