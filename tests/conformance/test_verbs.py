"""Every verb of the core on every server: created, read, replaced, patched, applied, listed, deleted."""

from __future__ import annotations

from typing import Any

import pytest

import kubeproto as kp
from conformance.client import Client, causes, names
from conformance.kinds import BARS, bar, foo, foos
from kubeproto import AlreadyExists, Conflict, Invalid, NotFound
from kubeproto.kinds.core_v1 import ConfigMap


class FooSpec(kp.Fields):
    color: str
    size: int = 3
    replicas: int | None = None


class FooStatus(kp.Fields):
    note: str | None = None


class Foo(kp.Object[FooSpec, FooStatus], group="suite.test", version="v1", plural="foos"):
    """A kind of the suite, as a class."""


def red(name: str) -> Foo:
    return Foo(metadata=kp.ObjectMeta(name=name), spec=FooSpec(color="red"))


def test_an_object_is_created_read_replaced_and_deleted(client: Client) -> None:
    api = kp.Api(Foo, namespace=client.namespace)
    created_object = client.call(api.create(red("a")))
    assert created_object.created
    read = client.call(api.get("a")).value
    assert (read.spec.color, read.spec.size, read.metadata.generation) == ("red", 3, 1)
    read.spec.size = 5
    replaced = client.call(api.replace(read)).value
    assert (replaced.spec.size, replaced.metadata.generation) == (5, 2)
    client.call(api.delete("a"))
    with pytest.raises(NotFound):
        client.call(api.get("a"))


def test_an_existing_object_is_not_created_again(client: Client) -> None:
    api = kp.Api(Foo, namespace=client.namespace)
    client.call(api.create(red("a")))
    with pytest.raises(AlreadyExists):
        client.call(api.create(red("a")))


def test_sv_18_a_replacement_of_an_older_version_is_a_conflict_and_without_a_version_invalid(
    client: Client,
) -> None:
    api = kp.Api(Foo, namespace=client.namespace)
    first = client.call(api.create(red("a"))).value
    client.call(api.merge_patch("a", {"spec": {"size": 4}}))
    first.spec.size = 9
    with pytest.raises(Conflict):
        client.call(api.replace(first))
    first.metadata.resource_version = ""
    with pytest.raises(Invalid):
        client.call(api.replace(first))


def test_sv_19_each_patch_type_changes_the_object(client: Client) -> None:
    api = kp.Api(ConfigMap, namespace=client.namespace)
    client.config("a", {"x": "1"})
    assert client.call(api.merge_patch("a", {"data": {"y": "2"}})).value.data == {"x": "1", "y": "2"}
    assert client.call(api.strategic_patch("a", {"data": {"x": None}})).value.data == {"y": "2"}
    operations = [{"op": "test", "path": "/data/y", "value": "2"}, {"op": "remove", "path": "/data/y"}]
    assert not client.call(api.json_patch("a", operations)).value.data


def test_sv_19_an_unsupported_patch_type_is_a_415_that_names_the_supported_types(
    client: Client,
) -> None:
    client.create(foos(client.namespace), foo("a"))
    target = f"{foos(client.namespace)}/a"
    status = client.expect_refusal("PATCH", target, {}, "application/strategic-merge-patch+json")
    assert (status["code"], status["reason"]) == (415, "UnsupportedMediaType")
    assert "application/merge-patch+json" in status["message"]


def test_a_json_patch_whose_test_fails_changes_nothing(client: Client) -> None:
    created = client.config("a", {"x": "1"})
    operations = [
        {"op": "replace", "path": "/data/x", "value": "2"},
        {"op": "test", "path": "/data/x", "value": "9"},
    ]
    status = client.expect_refusal(
        "PATCH", f"{client.configmaps}/a", operations, "application/json-patch+json"
    )
    assert (status["code"], status["reason"], status["details"]) == (422, "Invalid", {})
    assert client.get(f"{client.configmaps}/a") == created


def test_sv_11_a_write_that_changes_nothing_keeps_the_version(client: Client) -> None:
    created = client.config("a", {"x": "1"})
    assert client.fetch("PUT", f"{client.configmaps}/a", created) == created
    assert client.merge(f"{client.configmaps}/a", {"data": {"x": "1"}}) == created


def test_sv_17_a_name_is_generated_from_few_letters_after_its_base(client: Client) -> None:
    base = "g" * 70
    created = client.create(client.configmaps, {"metadata": {"generateName": base}})
    name = created["metadata"]["name"]
    assert name.startswith("g" * 58)
    assert len(name) == 63
    assert set(name[58:]) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert created["metadata"]["generateName"] == base


def test_sv_22_a_dry_run_returns_an_object_and_stores_nothing(client: Client) -> None:
    created = client.create(
        f"{client.configmaps}?dryRun=All", {"metadata": {"name": "a"}, "data": {"x": "1"}}
    )
    assert created["metadata"]["uid"]
    assert "resourceVersion" not in created["metadata"]
    assert client.send("GET", f"{client.configmaps}/a").status == 404
    existing = client.config("a", {"x": "1"})
    changed = client.fetch("PATCH", f"{client.configmaps}/a?dryRun=All", {"data": {"x": "2"}},
                         "application/merge-patch+json")  # fmt: skip
    assert changed["data"] == {"x": "2"}
    client.fetch("DELETE", f"{client.configmaps}/a?dryRun=All")
    assert client.get(f"{client.configmaps}/a") == existing


def test_unknown_fields_cause_a_warning_or_a_refusal_or_are_ignored(client: Client) -> None:
    target = foos(client.namespace)
    warned = client.send("POST", target, foo("a", bogus=1))
    assert (warned.status, warned.warnings) == (201, ('unknown field "spec.bogus"',))
    assert "bogus" not in warned.json["spec"]
    ignored = client.send("POST", f"{target}?fieldValidation=Ignore", foo("b", bogus=1))
    assert (ignored.status, ignored.warnings) == (201, ())
    refused = client.expect_refusal("POST", f"{target}?fieldValidation=Strict", foo("c", bogus=1))
    assert refused["reason"] == "BadRequest"
    assert 'strict decoding error: unknown field "spec.bogus"' in refused["message"]


def test_a_repeated_key_causes_a_warning_and_its_last_value_counts(client: Client) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"x":"1","x":"2"}}'
    answer = client.send("POST", client.configmaps, body)
    assert (answer.status, answer.json["data"]) == (201, {"x": "2"})
    assert answer.warnings == ('duplicate field "data.x"',)


def test_sv_21_a_collection_is_deleted_by_a_selector_and_returned(client: Client) -> None:
    for number in range(3):
        client.config(f"a{number}", labels={"l": str(number % 2)})
    deleted = client.fetch("DELETE", f"{client.configmaps}?labelSelector=l%3D0")
    assert (deleted["kind"], names(deleted)) == ("ConfigMapList", ["a0", "a2"])
    assert names(client.get(client.configmaps)) == ["a1"]


@pytest.mark.parametrize("kind", ["configmaps", "secrets", "serviceaccounts"])
def test_a_collection_of_any_kind_is_listed_and_deleted(client: Client, kind: str) -> None:
    target = f"{client.home}/{kind}"
    client.create(target, {"metadata": {"name": "mine", "labels": {"l": "1"}}})
    assert names(client.get(f"{target}?labelSelector=l%3D1")) == ["mine"]
    client.fetch("DELETE", f"{target}?labelSelector=l%3D1")
    assert names(client.get(f"{target}?labelSelector=l%3D1")) == []


def test_a_put_creates_a_lease_and_no_config_map(client: Client) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{client.namespace}/leases"
    answer = client.send("PUT", f"{leases}/a", {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}})
    assert answer.status == 201
    assert client.expect_refusal("PUT", f"{client.configmaps}/a", {"metadata": {"name": "a"}})["code"] == 404


def test_a_cluster_scoped_kind_is_served_in_each_of_its_versions(client: Client) -> None:
    name = f"{client.namespace}-q"
    created = client.create(BARS, bar(name, any={"a": [1, None, {"b": 1.5}]}))
    other = client.get(f"/apis/suite.test/v1beta1/bars/{name}")
    assert other == created | {"apiVersion": "suite.test/v1beta1"}
    client.fetch("DELETE", f"{BARS}/{name}")


NOT_ALLOWED = "the server does not allow this method on the requested resource"
NOT_FOUND = "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("method", "target", "code", "message"),
    [
        ("GET", "/api/v1/namespaces/{ns}/configmaps/zz", 404, 'configmaps "zz" not found'),
        ("GET", "/apis/suite.test/v1/namespaces/{ns}/foos/zz", 404, 'foos.suite.test "zz" not found'),
        ("GET", "/api/v1/namespaces/{ns}/nopes", 404, NOT_FOUND),
        ("GET", "/api/v1/configmaps/a", 404, NOT_FOUND),
        ("GET", "/api/v2/pods", 404, NOT_FOUND),
        ("GET", "/apis/apps/v9", 404, NOT_FOUND),
        ("PUT", "/api/v1/namespaces/{ns}/configmaps", 405, NOT_ALLOWED),
        ("PUT", "/apis/suite.test/v1/namespaces/{ns}/foos", 400, "name must be provided"),
    ],
)  # fmt: skip
def test_a_missing_object_is_a_404_with_a_status(
    client: Client, method: str, target: str, code: int, message: str
) -> None:
    status = client.expect_refusal(method, target.format(ns=client.namespace))
    assert (status["code"], status["message"]) == (code, message)


@pytest.mark.parametrize(
    "target",
    ["/apis/nope.test/v1/things", "/apis/suite.test/v9/foos", "/nope", "/apis/suite.test/v1/foos/a",
     "/apis/suite.test/v1/namespaces/{ns}/bars", "/apis/suite.test/v1/namespaces/{ns}/nopes"],
)  # fmt: skip
def test_an_unknown_path_is_a_404_in_plain_text(client: Client, target: str) -> None:
    answer = client.send("GET", target.format(ns=client.namespace))
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


def body(**metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "data": {}}


@pytest.mark.parametrize(
    ("meta", "code", "reason", "message"),
    [
        (
            {"name": "Bad_Name"},
            422,
            "Invalid",
            'ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value:',
        ),
        ({}, 422, "Invalid", 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName'),
        (
            {"name": "a", "namespace": "zz"},
            400,
            "BadRequest",
            "the namespace of the provided object does not",
        ),
        (
            {"name": "a", "resourceVersion": "5"},
            500,
            "",
            "resourceVersion should not be set on objects to be",
        ),
        ({"name": "a", "labels": {"l": 5}}, 400, "BadRequest", 'ConfigMap in version "v1" cannot be handled'),
        (
            {"name": "a", "finalizers": ["x"]},
            422,
            "Invalid",
            'ConfigMap "a" is invalid: metadata.finalizers[0]',
        ),
    ],
)
def test_an_invalid_object_is_refused_with_its_reason(
    client: Client, meta: dict[str, Any], code: int, reason: str, message: str
) -> None:
    status = client.expect_refusal("POST", client.configmaps, body(**meta))
    assert (status["code"], status.get("reason", "")) == (code, reason)
    assert status["message"].startswith(message)


def test_every_fault_of_an_object_has_its_cause(client: Client) -> None:
    status = client.expect_refusal("POST", foos(client.namespace), foo("a", size=99, mode="C", color=5))
    assert status["details"]["kind"] == "Foo"
    assert set(causes(status)) == {
        ("spec.size", "FieldValueInvalid"), ("spec.mode", "FieldValueNotSupported"),
        ("spec.color", "FieldValueTypeInvalid"), ("<nil>", "FieldValueInvalid"),
    }  # fmt: skip
