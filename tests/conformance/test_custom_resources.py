"""The effects of a definition: its kind is served, and its schema prunes, defaults and validates."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import DEFINITIONS, JSON_PATCH, MERGE, Client, causes, established
from conformance.definitions import stored_spec
from conformance.kinds import BAZ, FOO, foo, foos


def definition(plural: str, **spec: Any) -> dict[str, Any]:
    """Return a definition of a kind that only the calling test uses."""
    kind = plural.capitalize()
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.suite.test"},
        "spec": BAZ["spec"] | {"names": names} | spec,
    }


def test_a_definition_becomes_established_and_its_kind_is_discovered(client: Client) -> None:
    client.define(definition("births"))
    stored = client.get(f"{DEFINITIONS}/births.suite.test")
    assert established(stored)
    assert stored["status"]["acceptedNames"] == stored["spec"]["names"]
    assert stored["status"]["storedVersions"] == ["v1"]
    client.poll_until(
        lambda: "births" in [resource["name"] for resource in client.get("/apis/suite.test/v1")["resources"]]
    )
    client.fetch("DELETE", f"{DEFINITIONS}/births.suite.test")
    client.wait_until_deleted(DEFINITIONS, "births.suite.test")
    client.poll_until(lambda: client.send("GET", "/apis/suite.test/v1/births").status == 404)


def test_a_deleted_definition_deletes_its_objects(client: Client) -> None:
    client.define(definition("deaths"))
    target = f"/apis/suite.test/v1/namespaces/{client.namespace}/deaths"
    body = {"apiVersion": "suite.test/v1", "kind": "Deaths", "metadata": {"name": "a"}}
    since = client.create(target, body)["metadata"]["resourceVersion"]
    with client.watch(f"{target}?resourceVersion={since}") as stream:
        client.fetch("DELETE", f"{DEFINITIONS}/deaths.suite.test")
        assert stream.take_all()[-1][0] == "DELETED"
    client.wait_until_deleted(DEFINITIONS, "deaths.suite.test")


def test_names_in_use_are_not_accepted(client: Client) -> None:
    names = {"plural": "thieves", "singular": "thief", "kind": "Foo", "listKind": "FooList"}
    client.create(DEFINITIONS, definition("thieves", names=names))

    def refused(stored: Any) -> bool:
        conditions: list[dict[str, Any]] = stored.get("status", {}).get("conditions") or []
        return ("NamesAccepted", "False") in [
            (condition["type"], condition["status"]) for condition in conditions
        ]

    stored = client.wait_for(DEFINITIONS, "thieves.suite.test", refused)
    assert not established(stored)
    client.fetch("DELETE", f"{DEFINITIONS}/thieves.suite.test")
    client.wait_until_deleted(DEFINITIONS, "thieves.suite.test")


def test_the_definition_is_stored_as_it_was_sent(client: Client) -> None:
    stored = client.get(f"{DEFINITIONS}/{FOO['metadata']['name']}")
    assert stored["spec"] == stored_spec(FOO["spec"]) | {"conversion": {"strategy": "None"}}


def test_unknown_fields_are_pruned_and_defaults_are_set(client: Client) -> None:
    body = foo("a", ports=[{"name": "p", "nope": 1}], extra={"anything": {"goes": [1, None]}}, note=None)
    created = client.create(foos(client.namespace), body)
    assert created["spec"] == {
        "color": "red",
        "size": 3,
        "ports": [{"name": "p", "port": 80}],
        "extra": {"anything": {"goes": [1, None]}},
        "note": None,
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"size": 99}, ("spec.size", "FieldValueInvalid")),
        ({"size": "x"}, ("spec.size", "FieldValueTypeInvalid")),
        ({"mode": "C"}, ("spec.mode", "FieldValueNotSupported")),
        ({"color": "toolongforit"}, ("spec.color", "FieldValueTooLong")),
        ({"color": "RED"}, ("spec.color", "FieldValueInvalid")),
        ({"tags": ["s", "s"]}, ("spec.tags[1]", "FieldValueDuplicate")),
        ({"ports": [{"name": "p"}, {"name": "p"}]}, ("spec.ports[1]", "FieldValueDuplicate")),
        ({"ports": [{"port": 1}]}, ("spec.ports[0].name", "FieldValueRequired")),
        ({"amount": True}, ("spec.amount", "FieldValueTypeInvalid")),
        ({"mode": "B"}, ("spec", "FieldValueInvalid")),
        ({"replicas": -1}, (".spec.replicas", "FieldValueInvalid")),
    ],
)
def test_a_violation_of_a_schema_is_invalid_at_its_field(
    client: Client, spec: dict[str, Any], expected: tuple[str, str]
) -> None:
    status = client.expect_refusal("POST", foos(client.namespace), foo("a", **spec))
    assert (status["code"], status["reason"], status["details"]["group"]) == (422, "Invalid", "suite.test")
    assert expected in causes(status)


def test_a_transition_rule_applies_only_to_updates(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    client.create(foos(client.namespace), foo("a", mode="A"))
    status = client.expect_refusal("PATCH", target, {"spec": {"mode": None}}, MERGE)
    assert causes(status) == [("spec", "FieldValueInvalid")]
    assert "a mode does not go" in status["message"]
    assert client.merge(target, {"spec": {"mode": "B", "size": 9}})["spec"]["mode"] == "B"


def test_the_generation_counts_changes_of_the_spec(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    assert client.create(foos(client.namespace), foo("a"))["metadata"]["generation"] == 1
    assert client.merge(target, {"metadata": {"labels": {"l": "1"}}})["metadata"]["generation"] == 1
    assert (
        client.merge(target, {"spec": {"size": 9}, "metadata": {"generation": 77}})["metadata"]["generation"]
        == 2
    )


def test_the_kind_and_metadata_of_a_custom_resource_must_be_right(client: Client) -> None:
    wrong_kind = foo("a") | {"kind": "Fooo"}
    assert causes(client.expect_refusal("POST", foos(client.namespace), wrong_kind)) == [
        ("kind", "FieldValueInvalid")
    ]
    wrong_version = foo("a") | {"apiVersion": "suite.test/v9"}
    assert client.expect_refusal("POST", foos(client.namespace), wrong_version)["reason"] == "BadRequest"
    nothing = client.expect_refusal("POST", foos(client.namespace), {"metadata": {"name": "a"}})
    assert "Object 'Kind' is missing" in nothing["message"]


@pytest.mark.parametrize(
    "metadata",
    [
        5,
        {"name": 5},
        {"name": "a", "labels": 5},
        {"name": "a", "labels": {"l": 5}},
        {"name": "a", "finalizers": "x"},
    ],
)
def test_metadata_of_a_wrong_type_is_a_bad_request(client: Client, metadata: Any) -> None:
    status = client.expect_refusal("POST", foos(client.namespace), foo("a") | {"metadata": metadata})
    assert (status["code"], status["reason"]) == (400, "BadRequest")
    assert "json: cannot unmarshal" in status["message"]


def test_a_patch_that_leaves_metadata_of_a_wrong_type_is_invalid(client: Client) -> None:
    client.create(foos(client.namespace), foo("a"))
    target = f"{foos(client.namespace)}/a"
    for change, media in (
        ({"metadata": {"labels": 5}}, MERGE),
        ({"metadata": 5}, MERGE),
        ([{"op": "add", "path": "/metadata/labels", "value": 5}], JSON_PATCH),
    ):
        status = client.expect_refusal("PATCH", target, change, media)
        assert (status["code"], causes(status)) == (422, [("patch", "FieldValueInvalid")])


def test_a_finalizer_without_a_domain_is_warned_of(client: Client) -> None:
    body = foo("a")
    body["metadata"]["finalizers"] = ["mine"]
    answer = client.send("POST", foos(client.namespace), body)
    [warning] = answer.warnings
    assert (answer.status, "prefer a domain-qualified finalizer name" in warning) == (201, True)
    client.merge(f"{foos(client.namespace)}/a", {"metadata": {"finalizers": None}})
