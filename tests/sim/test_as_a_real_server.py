"""Observed behaviour of a real server in which the simulator once differed: the parts without their own
suite.
"""

from __future__ import annotations

from typing import Any

import pytest
from raw_client import BOOKS, CONFIGMAPS, MERGE, STRATEGIC, RawClient, events

import kubeproto_sim as sim

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def client() -> RawClient:
    return RawClient()


def definition(plural: str, kind: str, short: str = "") -> dict[str, Any]:
    names: dict[str, Any] = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    names |= {"shortNames": [short]} if short else {}
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.io"},
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": names,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def accepted(client: RawClient, plural: str) -> tuple[str, str]:
    client.cluster.advance(1)
    stored = client.fetch("GET", f"{DEFINITIONS}/{plural}.example.io")
    [names, _] = stored["status"]["conditions"]
    return names["status"], names["reason"]


def test_a_definition_waits_until_its_names_are_free(client: RawClient) -> None:
    client.create(DEFINITIONS, definition("tomes", "Tome", "t"))
    assert accepted(client, "tomes") == ("True", "NoConflicts")
    client.create(DEFINITIONS, definition("thieves", "Tome"))
    assert accepted(client, "thieves") == ("False", "ListKindConflict")
    client.create(DEFINITIONS, definition("others", "Other", "t"))
    assert accepted(client, "others") == ("False", "ShortNamesConflict")
    assert client.send("GET", "/apis/example.io/v1/thieves").status == 404
    client.fetch("DELETE", f"{DEFINITIONS}/tomes.example.io")
    client.cluster.advance(1)
    assert accepted(client, "thieves") == accepted(client, "others") == ("True", "NoConflicts")
    assert client.send("GET", "/apis/example.io/v1/thieves").status == 200


def test_a_fork_continues_to_wait_for_names(client: RawClient) -> None:
    client.create(DEFINITIONS, definition("thieves", "Book"))
    assert accepted(client, "thieves")[0] == "False"
    twin = RawClient(client.cluster.fork())
    twin.fetch("DELETE", f"{DEFINITIONS}/books.example.io")
    assert accepted(twin, "thieves")[0] == "True"


def test_a_cluster_that_begins_at_a_version_has_no_history_before_it() -> None:
    client = RawClient(sim.Cluster(version=100))
    [(change, status)] = events(client.watch(f"{CONFIGMAPS}?resourceVersion=1").take())
    assert (change, status["code"]) == ("ERROR", 410)


def test_an_invalid_strategic_patch_is_quoted_in_the_syntax_of_go(client: RawClient) -> None:
    client.config("a")
    changes: list[tuple[dict[str, Any], str]] = [
        ({"data": 5}, '"map[data:5]": cannot restore map from int64'),
        ({"data": []}, '"map[data:[]]": cannot restore map from slice'),
        ({"data": {"a": 5}}, '"map[data:map[a:5]]": cannot convert int64 to string'),
        ({"metadata": 5}, '"map[metadata:5]": cannot restore struct from: int64'),
    ]
    for change, message in changes:
        status = client.expect_refusal("PATCH", f"{CONFIGMAPS}/a", change, STRATEGIC)
        assert status["message"] == f' "" is invalid: patch: Invalid value: {message}'


def test_a_refusal_prints_the_keys_along_the_patch_sorted(client: RawClient) -> None:
    client.config("a")
    status = client.expect_refusal("PATCH", f"{CONFIGMAPS}/a", {"data": {"b": 5, "a": "<"}}, MERGE)
    assert '{\\"apiVersion\\":\\"v1\\",\\"data\\":{\\"a\\":\\"\\\\u003c\\",\\"b\\":5},' in status["message"]


def test_nulls_inside_of_lists_of_new_values_are_dropped_too(client: RawClient) -> None:
    client.cluster.define(definition("loose", "Loose") | {"spec": _loose()})
    target = "/apis/example.io/v1/namespaces/default/loose"
    client.create(target, {"apiVersion": "example.io/v1", "kind": "Loose", "metadata": {"name": "a"}})
    merged = client.fetch("PATCH", f"{target}/a", {"x": [1, {"a": None, "b": 1}], "y": {"z": None}}, MERGE)
    assert (merged["x"], merged["y"]) == ([1, {"b": 1}], {})


def _loose() -> dict[str, Any]:
    spec: dict[str, Any] = definition("loose", "Loose")["spec"]
    spec["versions"][0]["schema"] = {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    return spec


def test_an_invalid_status_loses_its_managed_fields(client: RawClient) -> None:
    body = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "a"}, "spec": {"title": "t"}}
    book = client.create(BOOKS, body | {"status": {"readers": "x"}})
    assert "managedFields" not in book["metadata"]
    assert (
        "managedFields"
        in client.create(BOOKS, body | {"metadata": {"name": "b"}, "status": {"readers": 1}})["metadata"]
    )


def test_a_head_request_of_a_custom_resource_is_a_get_without_a_body(client: RawClient) -> None:
    client.book("a")
    for target in (BOOKS, f"{BOOKS}/a"):
        answer = client.send("HEAD", target)
        assert (answer.status, answer.body) == (200, b"")
    assert client.send("HEAD", CONFIGMAPS).status == 405
