"""Requests that once had no response, or whose definitions were served although no server would."""

from __future__ import annotations

from typing import Any

import pytest
from raw_client import APPLY, CONFIGMAPS, DEFINITIONS, JSON_PATCH, RawClient, definition


def test_a_namespace_without_a_name_is_refused() -> None:
    status = RawClient().expect_refusal("POST", "/api/v1/namespaces", {})
    assert (status["code"], status["details"]["causes"][0]["field"]) == (422, "metadata.name")


def test_a_json_patch_with_null_for_an_operation_is_refused() -> None:
    client = RawClient()
    client.config("a")
    assert client.expect_refusal("PATCH", f"{CONFIGMAPS}/a", [None], JSON_PATCH)["code"] == 422


@pytest.mark.parametrize("body", [b"apiVersion: 5\nkind: ConfigMap\n", b"[" * 5000])
def test_yaml_that_is_not_an_object_of_a_kind_is_refused(body: bytes) -> None:
    status = RawClient().expect_refusal("POST", CONFIGMAPS, body, "application/yaml")
    assert status["code"] == 400
    assert status["message"].startswith("the object provided is unrecognized (must be of type ConfigMap): ")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"versions": [{"served": True, "storage": True}]}, "spec.versions[0].name"),
        ({"versions": []}, "spec.versions"),
        ({"versions": [definition()["spec"]["versions"][0] | {"name": name} for name in ("v1", "v2")]},
         "spec.versions"),
        ({"versions": [definition()["spec"]["versions"][0] | {"additionalPrinterColumns": [
            {"name": "A", "type": "text", "jsonPath": ".spec.a"}]}]},
         "spec.versions[0].additionalPrinterColumns[0].type"),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]},
         "spec.versions[0].schema.openAPIV3Schema"),
        ({"versions": [definition()["spec"]["versions"][0] | {"schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {}}}}}]},
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].type"),
        ({"names": {"plural": "bs", "kind": "A"}}, "metadata.name"),
    ],
)  # fmt: skip
def test_a_definition_that_a_server_cannot_serve_is_refused(changes: dict[str, Any], field: str) -> None:
    client = RawClient()
    status = client.expect_refusal("POST", DEFINITIONS, definition(**changes))
    assert status["code"] == 422
    assert field in [cause["field"] for cause in status["details"]["causes"]]
    client.cluster.advance(1)
    assert client.fetch("GET", f"{DEFINITIONS}/as.a.b")["code"] == 404


@pytest.mark.parametrize(
    "schema",
    [
        [],
        5,
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"spec": [1]}},
        {"type": "object", "not": 5},
        {"type": "object", "allOf": {"a": 1}},
        {"type": "array", "items": [["a"]]},
        {"type": "object", "additionalProperties": "no"},
    ],
    ids=str,
)
def test_a_definition_without_an_object_as_its_schema_is_refused(schema: Any) -> None:
    version = definition()["spec"]["versions"][0] | {"schema": {"openAPIV3Schema": schema}}
    client = RawClient()
    assert client.expect_refusal("POST", DEFINITIONS, definition(versions=[version]))["code"] == 400
    client.cluster.advance(1)
    assert client.fetch("GET", f"{DEFINITIONS}/as.a.b")["code"] == 404


def test_an_apply_that_creates_must_name_the_object() -> None:
    client = RawClient()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}
    assert client.expect_refusal("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", body, APPLY)["code"] == 400
    client.config("a")
    client.fetch("PATCH", f"{CONFIGMAPS}/a?fieldManager=m&force=1", body, APPLY)
    assert client.status == 200
