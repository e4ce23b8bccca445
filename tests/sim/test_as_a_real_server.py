"""Observed behaviour of a real server in which the simulator once differed: the parts without their own
suite.
"""

from __future__ import annotations

from typing import Any

import pytest
from asking import BOOKS, CONFIGMAPS, MERGE, STRATEGIC, Asker, events

import kubeproto_sim as sim

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def asker() -> Asker:
    return Asker()


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


def accepted(asker: Asker, plural: str) -> tuple[str, str]:
    asker.cluster.advance(1)
    stored = asker.ask("GET", f"{DEFINITIONS}/{plural}.example.io")
    [names, _] = stored["status"]["conditions"]
    return names["status"], names["reason"]


def test_a_definition_waits_until_its_names_are_free(asker: Asker) -> None:
    asker.create(DEFINITIONS, definition("tomes", "Tome", "t"))
    assert accepted(asker, "tomes") == ("True", "NoConflicts")
    asker.create(DEFINITIONS, definition("thieves", "Tome"))
    assert accepted(asker, "thieves") == ("False", "ListKindConflict")
    asker.create(DEFINITIONS, definition("others", "Other", "t"))
    assert accepted(asker, "others") == ("False", "ShortNamesConflict")
    assert asker.send("GET", "/apis/example.io/v1/thieves").status == 404
    asker.ask("DELETE", f"{DEFINITIONS}/tomes.example.io")
    asker.cluster.advance(1)
    assert accepted(asker, "thieves") == accepted(asker, "others") == ("True", "NoConflicts")
    assert asker.send("GET", "/apis/example.io/v1/thieves").status == 200


def test_a_fork_continues_to_wait_for_names(asker: Asker) -> None:
    asker.create(DEFINITIONS, definition("thieves", "Book"))
    assert accepted(asker, "thieves")[0] == "False"
    twin = Asker(asker.cluster.fork())
    twin.ask("DELETE", f"{DEFINITIONS}/books.example.io")
    assert accepted(twin, "thieves")[0] == "True"


def test_a_cluster_that_begins_at_a_version_has_no_history_before_it() -> None:
    asker = Asker(sim.Cluster(version=100))
    [(change, status)] = events(asker.watch(f"{CONFIGMAPS}?resourceVersion=1").take())
    assert (change, status["code"]) == ("ERROR", 410)


def test_an_invalid_strategic_patch_is_quoted_in_the_syntax_of_go(asker: Asker) -> None:
    asker.config("a")
    changes: list[tuple[dict[str, Any], str]] = [
        ({"data": 5}, '"map[data:5]": cannot restore map from int64'),
        ({"data": []}, '"map[data:[]]": cannot restore map from slice'),
        ({"data": {"a": 5}}, '"map[data:map[a:5]]": cannot convert int64 to string'),
        ({"metadata": 5}, '"map[metadata:5]": cannot restore struct from: int64'),
    ]
    for change, message in changes:
        status = asker.refused("PATCH", f"{CONFIGMAPS}/a", change, STRATEGIC)
        assert status["message"] == f' "" is invalid: patch: Invalid value: {message}'


def test_a_refusal_prints_the_keys_along_the_patch_sorted(asker: Asker) -> None:
    asker.config("a")
    status = asker.refused("PATCH", f"{CONFIGMAPS}/a", {"data": {"b": 5, "a": "<"}}, MERGE)
    assert '{\\"apiVersion\\":\\"v1\\",\\"data\\":{\\"a\\":\\"\\\\u003c\\",\\"b\\":5},' in status["message"]


def test_nulls_inside_of_lists_of_new_values_are_dropped_too(asker: Asker) -> None:
    asker.cluster.define(definition("loose", "Loose") | {"spec": _loose()})
    target = "/apis/example.io/v1/namespaces/default/loose"
    asker.create(target, {"apiVersion": "example.io/v1", "kind": "Loose", "metadata": {"name": "a"}})
    merged = asker.ask("PATCH", f"{target}/a", {"x": [1, {"a": None, "b": 1}], "y": {"z": None}}, MERGE)
    assert (merged["x"], merged["y"]) == ([1, {"b": 1}], {})


def _loose() -> dict[str, Any]:
    spec: dict[str, Any] = definition("loose", "Loose")["spec"]
    spec["versions"][0]["schema"] = {
        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    }
    return spec


def test_an_invalid_status_loses_its_managed_fields(asker: Asker) -> None:
    body = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "a"}, "spec": {"title": "t"}}
    book = asker.create(BOOKS, body | {"status": {"readers": "x"}})
    assert "managedFields" not in book["metadata"]
    assert (
        "managedFields"
        in asker.create(BOOKS, body | {"metadata": {"name": "b"}, "status": {"readers": 1}})["metadata"]
    )


def test_a_head_request_of_a_custom_resource_is_a_get_without_a_body(asker: Asker) -> None:
    asker.book("a")
    for target in (BOOKS, f"{BOOKS}/a"):
        answer = asker.send("HEAD", target)
        assert (answer.status, answer.body) == (200, b"")
    assert asker.send("HEAD", CONFIGMAPS).status == 405
