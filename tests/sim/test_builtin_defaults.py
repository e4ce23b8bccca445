"""Minimal objects of all built-in kinds get the defaults of a real server.

minimal_objects.json contains the responses of a kube-apiserver 1.36.3 to each object as a dry run: the
target, the object, and the response without its uid, times and managedFields. Responses are compared as text,
so that the order matters too.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from raw_client import RawClient

RECORDED: Final[list[Any]] = json.loads(Path(__file__).with_name("minimal_objects.json").read_text())
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")
_TIME: Final = re.compile(r"2026-01-01T[\d:]+Z")
PODS: Final = "/api/v1/namespaces/default/pods"
SERVICES: Final = "/api/v1/namespaces/default/services"


@pytest.mark.parametrize(("target", "obj", "expected"), RECORDED, ids=[row[0] for row in RECORDED])
def test_a_minimal_object_is_stored_as_by_a_real_server(
    target: str, obj: dict[str, Any], expected: dict[str, Any]
) -> None:
    created = RawClient().create(f"{target}?dryRun=All", obj)
    for name in ("uid", "creationTimestamp", "managedFields"):
        created["metadata"].pop(name, None)
    if "certificatesigningrequests" in target:  # the recorded client had another name
        for name in ("username", "uid", "groups"):
            expected["spec"].pop(name, None)
            created["spec"].pop(name, None)
    text = _TIME.sub("<time>", _UID.sub("<uid>", json.dumps(created)))
    assert text == _TIME.sub("<time>", json.dumps(expected))


def test_zeros_are_preserved_where_go_preserves_them() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": template,
        "minReadySeconds": 0,
        "replicas": 0,
    }
    target = "/apis/apps/v1/namespaces/default/deployments"
    created = RawClient().create(target, {"metadata": {"name": "a"}, "spec": spec})
    assert created["spec"]["replicas"] == 0
    assert "minReadySeconds" not in created["spec"]


def test_services_get_their_own_addresses_and_ports_and_keep_them() -> None:
    raw_client = RawClient()
    port = [{"port": 80}]
    first = raw_client.create(
        SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": port, "type": "NodePort"}}
    )
    second = raw_client.create(
        SERVICES, {"metadata": {"name": "b"}, "spec": {"ports": port, "type": "NodePort"}}
    )
    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
    assert first["spec"]["ports"][0]["nodePort"] != second["spec"]["ports"][0]["nodePort"]
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], "type": "NodePort"}}
    again = raw_client.fetch("PUT", f"{SERVICES}/a", body)
    assert again["spec"] == first["spec"]


def test_a_claim_in_use_by_a_pod_stays_until_the_pod_is_deleted() -> None:
    raw_client = RawClient()
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    for name in ("used", "free"):
        raw_client.create(claims, {"metadata": {"name": name}, "spec": spec})
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "used"}}
    container = {"name": "c", "image": "i"}
    raw_client.create(
        PODS, {"metadata": {"name": "p"}, "spec": {"containers": [container], "volumes": [volume]}}
    )
    for name in ("used", "free"):
        raw_client.send("DELETE", f"{claims}/{name}")
    raw_client.cluster.settle()
    assert [raw_client.send("GET", f"{claims}/{name}").status for name in ("used", "free")] == [200, 404]
    raw_client.send("DELETE", f"{PODS}/p")
    raw_client.cluster.settle()
    assert raw_client.send("GET", f"{claims}/used").status == 404
