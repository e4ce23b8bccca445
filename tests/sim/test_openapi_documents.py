"""The OpenAPI documents of the simulator: complete, and with the parts that kubectl reads."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.wire import RawRequest

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="library.example.io", version="v1", plural="books"):
    """A book."""


@pytest.fixture
def cluster() -> sim.Cluster:
    return sim.Cluster(crds=[Book])


def get(cluster: sim.Cluster, target: str, *headers: tuple[str, str]) -> sim.ServerResponse:
    return cluster.respond(RawRequest("GET", target, headers))


def body(answer: sim.ServerResponse) -> Any:
    assert isinstance(answer.body, bytes)
    return json.loads(answer.body)


def references(document: Any) -> set[str]:
    """Yield every reference in the document."""
    text = json.dumps(document)
    return set(re.findall(r'"\$ref": "([^"]*)"', text))


def documents(cluster: sim.Cluster) -> list[Any]:
    paths: dict[str, Any] = body(get(cluster, "/openapi/v3"))["paths"]
    return [body(get(cluster, entry["serverRelativeURL"])) for entry in paths.values()]


def test_every_reference_has_a_schema(cluster: sim.Cluster) -> None:
    for document in documents(cluster):
        schema_names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert references(document) <= schema_names
    document_v2 = body(get(cluster, "/openapi/v2"))
    assert references(document_v2) <= {f"#/definitions/{name}" for name in document_v2["definitions"]}


def test_every_patch_declares_field_validation(cluster: sim.Cluster) -> None:
    patched: set[tuple[str, str]] = set()
    for document in documents(cluster):
        for path in document["paths"].values():
            if operation := path.get("patch"):
                assert "fieldValidation" in [parameter["name"] for parameter in operation["parameters"]]
                gvk = operation["x-kubernetes-group-version-kind"]
                patched.add((gvk["group"], gvk["kind"]))
    assert {("", "Pod"), ("apps", "Deployment"), ("library.example.io", "Book")} <= patched


def test_a_patch_of_a_custom_resource_may_have_any_type_except_strategic(cluster: sim.Cluster) -> None:
    strategic = "application/strategic-merge-patch+json"
    others = {"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"}
    path = "/apis/library.example.io/v1/namespaces/{namespace}/books/{name}"
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"
    books = body(get(cluster, "/openapi/v3/apis/library.example.io/v1"))["paths"]
    core = body(get(cluster, "/openapi/v3/api/v1"))["paths"]
    assert books[path]["patch"]["requestBody"]["content"].keys() == others
    assert core[pod]["patch"]["requestBody"]["content"].keys() == others | {strategic}
    paths = body(get(cluster, "/openapi/v2"))["paths"]
    assert set(paths[path]["patch"]["consumes"]) == others
    assert set(paths[pod]["patch"]["consumes"]) == others | {strategic}


def test_schemas_have_kinds_merge_keys_and_the_fields_of_custom_resources(cluster: sim.Cluster) -> None:
    core = body(get(cluster, "/openapi/v3/api/v1"))["components"]["schemas"]
    pod = core["io.k8s.api.core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    containers = core["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    books = body(get(cluster, "/openapi/v3/apis/library.example.io/v1"))["components"]["schemas"]
    book = books["io.example.library.v1.Book"]
    assert book["properties"]["spec"]["properties"]["title"] == {"type": "string"}
    assert book["properties"]["metadata"]["allOf"][0]["$ref"].endswith(".ObjectMeta")


def test_a_known_document_is_not_sent_again_until_it_changes(cluster: sim.Cluster) -> None:
    url = body(get(cluster, "/openapi/v3"))["paths"]["apis/library.example.io/v1"]["serverRelativeURL"]
    first = get(cluster, url)
    headers = dict(first.headers)
    assert headers["Cache-Control"] == "public, immutable"
    assert get(cluster, url, ("If-None-Match", headers["Etag"])).status == 304
    definition = cluster.objects("apiextensions.k8s.io/v1/CustomResourceDefinition")[0]
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["pages"] = {"type": "integer"}
    cluster.put(definition)
    second = get(cluster, url, ("If-None-Match", headers["Etag"]))
    assert (second.status, second.body) == (301, b"")  # the hash belongs to the earlier document
    current = dict(second.headers)["Location"]
    assert current != url
    assert (
        current
        == body(get(cluster, "/openapi/v3"))["paths"]["apis/library.example.io/v1"]["serverRelativeURL"]
    )
    third = get(cluster, current, ("If-None-Match", headers["Etag"]))
    assert third.status == 200
    assert dict(third.headers)["Cache-Control"] == "public, immutable"


def test_version_two_is_served_as_json_or_as_protobuf(cluster: sim.Cluster) -> None:
    assert body(get(cluster, "/openapi/v2", ("Accept", "application/json")))["swagger"] == "2.0"
    binary = get(cluster, "/openapi/v2", ("Accept", PROTOBUF))
    assert dict(binary.headers)["Content-Type"] == PROTOBUF.replace("@", ".")
    assert isinstance(binary.body, bytes)
    assert binary.body.startswith(b"\x0a\x032.0")
    assert b"io.example.library.v1.Book" in binary.body
    assert get(cluster, "/openapi/v2", ("Accept", "text/html")).status == 406


@pytest.mark.parametrize("path", ["v1", "v3/api/v7", "v3/apis/nothing/v1", "v3/apis/apps", "v2/more"])
def test_other_paths_are_not_found(cluster: sim.Cluster, path: str) -> None:
    assert get(cluster, f"/openapi/{path}").status == 404


def test_the_root_lists_the_paths(cluster: sim.Cluster) -> None:
    assert "/apis/library.example.io/v1" in body(get(cluster, "/"))["paths"]
