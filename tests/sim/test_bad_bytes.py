"""No bytes of a client raise an exception of the simulator: they are refused, or read as Go reads them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from raw_client import RawClient

import kubeproto_sim as sim

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
DEEP = b"[" * 100_000

OBJECT: dict[str, Any] = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}


@pytest.fixture
def raw_client() -> RawClient:
    raw_client = RawClient(sim.Cluster())
    raw_client.send("POST", MAPS, OBJECT)
    return raw_client


@pytest.mark.parametrize("body", [DEEP, b'{"a":' + DEEP, b"\xff", b'{"\xff', b'{"a":"\xff"'])
@pytest.mark.parametrize(
    ("method", "target", "media"),
    [
        ("POST", MAPS, "application/json"),
        ("PUT", f"{MAPS}/a", "application/json"),
        ("PATCH", f"{MAPS}/a", MERGE),
        ("PATCH", f"{MAPS}/a", "application/json-patch+json"),
        ("PATCH", f"{MAPS}/a", "application/strategic-merge-patch+json"),
        ("PATCH", f"{MAPS}/a?fieldManager=m", "application/apply-patch+yaml"),
        ("DELETE", f"{MAPS}/a", "application/json"),
    ],
)
def test_broken_bytes_are_a_400(
    raw_client: RawClient, method: str, target: str, media: str, body: bytes
) -> None:
    assert raw_client.expect_refusal(method, target, body, media)["code"] == 400


def test_a_byte_that_is_not_utf_8_is_read_as_go_reads_it(raw_client: RawClient) -> None:
    assert raw_client.fetch("PATCH", f"{MAPS}/a", b'{"data":{"k":"a\xff\xe2\x82b"}}', MERGE)["data"] == {
        "k": "a\ufffd\ufffd\ufffdb"
    }


@pytest.mark.parametrize("inside", [b'{"v":"\xff"}', DEEP])
def test_an_unreadable_token_is_a_400(raw_client: RawClient, inside: bytes) -> None:
    token = base64.urlsafe_b64encode(inside).rstrip(b"=").decode()
    assert raw_client.expect_refusal("GET", f"{MAPS}?continue={token}")["code"] == 400
    raw_client.send("GET", MAPS, None, Authorization=f"Bearer a.{token}.c")
    assert raw_client.response.status in (200, 401)


def test_an_annotation_that_is_nested_without_end_owns_no_field_for_kubectl(raw_client: RawClient) -> None:
    last = {"kubectl.kubernetes.io/last-applied-configuration": DEEP.decode()}
    body = {"metadata": {"annotations": last}, "data": {"k": "another's"}}
    raw_client.fetch("PATCH", f"{MAPS}/a", json.dumps(body).encode(), MERGE)
    applied = json.dumps(OBJECT | {"data": {"k": "v"}}).encode()
    apply = f"{MAPS}/a?fieldManager=kubectl", applied, "application/apply-patch+yaml"
    assert raw_client.expect_refusal("PATCH", *apply)["code"] == 409
