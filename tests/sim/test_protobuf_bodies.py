"""Request bodies in protobuf: those that kubectl 1.32 sends, and invalid bodies."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds import kind_table
from kubeproto.wire import RawRequest

BODIES: Final[list[dict[str, Any]]] = json.loads((Path(__file__).parent / "protobuf_bodies.json").read_text())
PROTOBUF: Final = ("Content-Type", "application/vnd.kubernetes.protobuf")
COLLECTIONS: Final = {
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "Service": "/api/v1/namespaces/default/services", "Secret": "/api/v1/namespaces/default/secrets",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "Ingress": "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "ResourceQuota": "/api/v1/namespaces/default/resourcequotas",
    "SelfSubjectAccessReview": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "TokenRequest": "/api/v1/namespaces/default/serviceaccounts/bob/token",
}  # fmt: skip


class Book(kp.KubeObject, group="example.io", version="v1", plural="books"):
    """A book."""


def post(
    cluster: sim.Cluster, target: str, body: bytes, media: tuple[str, str] = PROTOBUF
) -> sim.ServerResponse:
    return cluster.respond(RawRequest("POST", target, (media, ("User-Agent", "t")), body))


def stored(answer: sim.ServerResponse) -> dict[str, Any]:
    assert isinstance(answer.body, bytes)
    assert answer.status == 201, answer.body
    obj: dict[str, Any] = json.loads(answer.body)
    for entry in obj["metadata"].pop("managedFields", []):
        assert entry["fieldsType"] == "FieldsV1"
    if "token" in obj.get("status", {}):
        obj["status"]["token"] = ""
    return obj


@pytest.mark.parametrize("recorded_body", BODIES, ids=[body["command"] for body in BODIES])
def test_a_body_in_protobuf_has_the_effect_of_its_json(recorded_body: dict[str, Any]) -> None:
    target = COLLECTIONS[recorded_body["object"]["kind"]]
    answers: list[dict[str, Any]] = []
    for body, media in (
        (base64.b64decode(recorded_body["body"]), PROTOBUF),
        (json.dumps(recorded_body["object"]).encode(), ("Content-Type", "application/json")),
    ):
        cluster = sim.Cluster()
        cluster.put({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bob"}})
        answers.append(stored(post(cluster, target, body, media)))
    assert answers[0] == answers[1]


def test_delete_options_may_be_protobuf_too() -> None:
    cluster = sim.Cluster()
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    # DeleteOptions of apps/v1 with preconditions.uid "x"
    options = bytes([0x12, 3, 0x0A, 1, ord("x")])
    meta = b"\x0a\x07apps/v1\x12\x0dDeleteOptions"
    body = b"k8s\x00" + bytes([0x0A, len(meta)]) + meta + bytes([0x12, len(options)]) + options
    answer = cluster.respond(
        RawRequest("DELETE", "/api/v1/namespaces/default/configmaps/a", (PROTOBUF,), body)
    )
    assert answer.status == 409


@given(st.binary(max_size=80), st.sampled_from(BODIES), st.integers(0, 400))
def test_any_bytes_are_an_object_or_a_refusal(
    noise: bytes, recorded_body: dict[str, Any], offset: int
) -> None:
    body = base64.b64decode(recorded_body["body"])
    target = COLLECTIONS[recorded_body["object"]["kind"]]
    cluster = sim.Cluster()
    assert post(cluster, target, b"k8s\x00" + noise).status < 500
    assert post(cluster, target, body[:offset] + noise + body[offset + len(noise) :]).status < 500


def test_a_message_that_is_nested_too_deeply_is_refused() -> None:
    schema = b""
    for _ in range(300):  # JSONSchemaProps.not in JSONSchemaProps.not …
        size, length = len(schema), b""
        while size >= 0x80:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        schema = b"\xe2\x01" + length + bytes([size]) + schema

    def nested(tag: int, content: bytes) -> bytes:
        size, length = len(content), b""
        while size >= 0x80:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        return bytes([tag]) + length + bytes([size]) + content

    # spec.versions[0].schema.openAPIV3Schema
    crd = nested(0x12, nested(0x3A, nested(0x22, nested(0x0A, schema))))
    meta = nested(0x0A, b"apiextensions.k8s.io/v1") + nested(0x12, b"CustomResourceDefinition")
    body = b"k8s\x00" + nested(0x0A, meta) + nested(0x12, crd)
    answer = post(sim.Cluster(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert answer.status == 400
    assert isinstance(answer.body, bytes)
    assert b"recursion depth" in answer.body


def test_every_stored_built_in_kind_can_be_sent_in_protobuf() -> None:
    kinds = json.loads((Path(sim.__file__).parent / "kinds" / "protobuf.json").read_text())["kinds"]
    stored_kinds = {
        f"{kind_facts.resource.api_version} {kind_facts.resource.kind}"
        for kind_facts in kind_table().resources
    }
    assert stored_kinds - set(kinds) == set()


def test_a_custom_resource_cannot_be_sent_in_protobuf() -> None:
    cluster = sim.Cluster(crds=[Book])
    answer = post(cluster, "/apis/example.io/v1/namespaces/default/books", b"k8s\x00")
    assert answer.status == 415
