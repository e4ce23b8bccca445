"""Status, scale, binding, eviction and tokens: parts of objects with their own subresources."""

from __future__ import annotations

import pytest

from conformance.client import Client, causes, version_of
from conformance.kinds import BARS, bar, foo, foos


def test_sv_12_a_status_is_written_only_at_its_subresource(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    created = client.create(foos(client.namespace), foo("a") | {"status": {"note": "mine"}})
    assert "status" not in created
    assert "status" not in client.merge(target, {"status": {"note": "mine"}})
    change = {"status": {"note": "n"}, "spec": {"size": 9}, "metadata": {"labels": {"l": "1"}}}
    written = client.merge(f"{target}/status", change)
    assert (written["status"], written["spec"]["size"], "labels" in written["metadata"]) == (
        {"note": "n"},
        3,
        False,
    )
    assert written["metadata"]["generation"] == 1
    assert client.merge(target, {"spec": {"size": 4}})["metadata"]["generation"] == 2


def test_the_kind_in_an_update_of_a_status_does_not_matter(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    created = client.create(foos(client.namespace), foo("a")) | {"kind": "Other", "status": {"note": "n"}}
    assert client.expect_refusal("PUT", target, created)["message"].endswith(
        'Invalid value: "Other": must be Foo'
    )
    written = client.fetch("PUT", f"{target}/status", created)
    assert (written["kind"], written["status"]) == ("Foo", {"note": "n"})


@pytest.mark.kubernetes("1.33")
def test_a_status_is_validated_by_its_schema(client: Client) -> None:
    client.create(foos(client.namespace), foo("a"))
    status = client.expect_refusal("PATCH", f"{foos(client.namespace)}/a/status", {"status": {"note": 5}},
                            "application/merge-patch+json")  # fmt: skip
    assert ("status.note", "FieldValueTypeInvalid") in causes(status)
    assert "note in body must be of type string" in status["message"]


def test_a_kind_without_a_status_has_no_such_subresource(client: Client) -> None:
    name = f"{client.namespace}-s"
    client.create(BARS, bar(name, status={"x": 1}))
    change = {"status": {"x": 2}}
    status = client.expect_refusal("PATCH", f"{BARS}/{name}/status", change, "application/merge-patch+json")
    assert (status["code"], status["message"]) == (404, f'bars.suite.test "{name}" not found')
    assert client.merge(f"{BARS}/{name}", change)["metadata"]["generation"] == 2
    client.fetch("DELETE", f"{BARS}/{name}")


def test_sv_23_a_scale_reads_and_writes_the_paths_of_the_definition(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    client.create(foos(client.namespace), foo("a", replicas=2))
    client.merge(f"{target}/status", {"status": {"replicas": 1, "selector": "a=b"}})
    scale = client.get(f"{target}/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale", {"replicas": 2}, {"replicas": 1, "selector": "a=b"},
    )  # fmt: skip
    scale["spec"]["replicas"] = 5
    assert client.fetch("PUT", f"{target}/scale", scale)["spec"] == {"replicas": 5}
    assert client.expect_refusal("PUT", f"{target}/scale", scale)["code"] == 409  # the version is another now
    assert client.merge(f"{target}/scale", {"spec": {"replicas": 0}})["spec"] == {}
    assert client.get(target)["spec"]["replicas"] == 0


def test_the_replicas_of_a_custom_resource_fit_a_scale(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    most = (1 << 31) - 1
    client.create(foos(client.namespace), foo("a", replicas=most))
    for path_, change in (
        (target, {"spec": {"replicas": most + 1}}),
        (f"{target}/status", {"status": {"replicas": most + 1}}),
    ):
        status = client.expect_refusal("PATCH", path_, change, "application/merge-patch+json")
        ((field, _),) = causes(status)
        assert (status["code"], field) == (
            422,
            f".{path_.rpartition('/')[2] if path_ != target else 'spec'}.replicas",
        )
        assert f"Invalid value: {most + 1}: should be less than or equal to {most}" in status["message"]
    scale = client.expect_refusal(
        "PATCH", f"{target}/scale", {"spec": {"replicas": most + 1}}, "application/merge-patch+json"
    )
    assert (scale["code"], scale["reason"]) == (422, "Invalid")
    assert client.get(f"{target}/scale")["spec"] == {"replicas": most}


def test_an_order_of_elements_needs_an_element(client: Client) -> None:
    client.create(
        f"{client.home}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    )
    change = {"metadata": {"$setElementOrder/finalizers": ["a.b/c"], "finalizers": []}}
    status = client.expect_refusal(
        "PATCH", f"{client.home}/configmaps/a", change, "application/strategic-merge-patch+json"
    )
    assert (status["code"], status["message"]) == (500, "no elements in any of the given slices")


def test_a_scale_of_an_object_without_replicas_is_an_error_of_the_server(client: Client) -> None:
    client.create(foos(client.namespace), foo("a"))
    status = client.expect_refusal("GET", f"{foos(client.namespace)}/a/scale")
    assert (status["code"], status["reason"]) == (500, "InternalError")


def test_a_pod_is_bound_once(client: Client) -> None:
    client.pod("a")
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}
    bound = client.send("POST", f"{client.home}/pods/a/binding", binding)
    assert (bound.status, bound.json["status"], bound.json["code"]) == (201, "Success", 201)
    assert client.get(f"{client.home}/pods/a")["spec"]["nodeName"] == "n1"
    again = client.expect_refusal("POST", f"{client.home}/pods/a/binding", binding)
    assert (again["code"], again["details"]["kind"]) == (409, "pods/binding")


def test_sv_23_a_pod_is_evicted(client: Client) -> None:
    client.pod("a")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    evicted = client.send("POST", f"{client.home}/pods/a/eviction", eviction)
    assert (evicted.status, evicted.json["status"]) == (201, "Success")
    client.wait_until_deleted(f"{client.home}/pods", "a")


def test_sv_23_a_token_is_made_for_a_service_account(client: Client) -> None:
    target = f"{client.home}/serviceaccounts"
    client.create(target, {"metadata": {"name": "robot"}})
    token = client.create(f"{target}/robot/token", {"spec": {}})
    assert token["status"]["token"]
    assert token["status"]["expirationTimestamp"]
    status = client.expect_refusal("POST", f"{target}/robot/token", {"spec": {"expirationSeconds": 10}})
    assert causes(status) == [("spec.expirationSeconds", "FieldValueInvalid")]


def test_a_pod_without_a_node_has_no_log(client: Client) -> None:
    client.pod("a")
    answer = client.send("GET", f"{client.home}/pods/a/log")
    assert (answer.status, answer.body) == (204, b"")


def test_sv_12_a_write_of_the_status_of_a_pod_changes_labels(client: Client) -> None:
    client.pod("a")
    change = {"status": {"phase": "Running"}, "metadata": {"labels": {"l": "1"}}}
    pod = client.merge(f"{client.home}/pods/a/status", change)
    assert (pod["status"]["phase"], pod["metadata"]["labels"]) == ("Running", {"l": "1"})


@pytest.mark.parametrize("verb", ["GET", "PUT"])
def test_a_subresource_that_does_not_exist_is_not_found(client: Client, verb: str) -> None:
    client.config("a")
    client.create(foos(client.namespace), foo("a"))
    assert client.expect_refusal(verb, f"{client.configmaps}/a/nope", {})["details"] == {}
    assert client.expect_refusal(verb, f"{foos(client.namespace)}/a/nope", {})["details"]["name"] == "a"


def test_the_finalizers_of_a_namespace_have_their_own_subresource(client: Client) -> None:
    home = f"/api/v1/namespaces/{client.namespace}"
    namespace = client.get(home)
    assert namespace["spec"]["finalizers"] == ["kubernetes"]
    assert client.expect_refusal("GET", f"{home}/finalize")["code"] == 405
    namespace["spec"]["finalizers"] = ["kubernetes", "a.b/c"]
    assert client.fetch("PUT", f"{home}/finalize", namespace)["spec"] == namespace["spec"]
    stale = client.send("PUT", f"{home}/finalize", namespace)
    assert (stale.status, version_of(client.get(home)) != version_of(namespace)) == (409, True)
    fresh = client.get(home)
    fresh["spec"]["finalizers"] = ["kubernetes"]
    client.fetch("PUT", f"{home}/finalize", fresh)
