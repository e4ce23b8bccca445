"""The self-description of a server, and the basic kinds of every cluster: events, leases, secrets."""

from __future__ import annotations

from typing import Any

import pytest
from asked_release import RELEASE, number

import kubeproto as kp
from conformance.client import AGGREGATED, Client, causes, names
from kubeproto.requests import DiscoveryProgress


def test_sv_25_aggregated_discovery_has_an_etag_and_is_not_sent_twice(client: Client) -> None:
    answer = client.send("GET", "/apis", Accept=AGGREGATED)
    groups = {item["metadata"]["name"]: item for item in answer.json["items"]}
    [version] = [entry for entry in groups["suite.test"]["versions"] if entry["version"] == "v1"]
    resources = {entry["resource"]: entry for entry in version["resources"]}
    foos = resources["foos"]
    assert (foos["scope"], foos["shortNames"], foos["categories"]) == ("Namespaced", ["fo"], ["all"])
    assert foos["responseKind"] == {"group": "suite.test", "version": "v1", "kind": "Foo"}
    assert [entry["subresource"] for entry in foos["subresources"]] == ["status", "scale"]
    assert resources["bars"]["scope"] == "Cluster"

    def is_not_modified() -> bool:
        # The definition of another test may appear or disappear at this moment, which changes the tag.
        tag = client.send("GET", "/apis", Accept=AGGREGATED).header("Etag")
        again = client.send("GET", "/apis", Accept=AGGREGATED, If_None_Match=tag)
        return (again.status, again.body) == (304, b"")

    client.poll_until(is_not_modified)


def test_legacy_discovery_lists_groups_and_their_resources(client: Client) -> None:
    assert client.get("/api")["versions"] == ["v1"]
    groups = {entry["name"]: entry for entry in client.get("/apis")["groups"]}
    assert groups["suite.test"]["preferredVersion"] == {"groupVersion": "suite.test/v1", "version": "v1"}
    assert {"apps", "batch", "coordination.k8s.io"} <= groups.keys()
    listed = {entry["name"]: entry for entry in client.get("/apis/suite.test/v1")["resources"]}
    assert listed["foos"]["kind"] == "Foo"
    assert listed["foos/scale"]["kind"] == "Scale"
    core = {entry["name"]: entry for entry in client.get("/api/v1")["resources"]}
    assert core["pods/eviction"]["kind"] == "Eviction"
    assert core["configmaps"]["namespaced"]


def test_the_core_discovers_the_kinds_of_the_suite(client: Client) -> None:
    state = DiscoveryProgress()
    while state.result is None:
        request = state.requests[0]
        with client.server.transport.send(request, timeout=60.0) as response:
            state = state.receive(request, response.status, response.headers, b"".join(response))
    foo_resource = state.result.find("foos", group="suite.test")
    assert foo_resource is not None
    assert (foo_resource.kind, foo_resource.namespaced) == ("Foo", True)


def test_a_server_reports_its_version_and_its_health(client: Client) -> None:
    version = client.call(kp.requests.version()).value
    assert version.release == number(RELEASE)
    for path in ("/livez", "/readyz", "/healthz"):
        answer = client.send("GET", path)
        assert (answer.status, answer.body) == (200, b"ok")


def leases(client: Client) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{client.namespace}/leases"


def lease(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "l"}, "spec": spec}


def test_a_lease_is_replaced_only_at_its_version(client: Client) -> None:
    created = client.create(leases(client), lease(holderIdentity="me", leaseDurationSeconds=15))
    status = client.expect_refusal("PUT", f"{leases(client)}/l", lease(holderIdentity="you"))
    assert (status["code"], causes(status)) == (422, [("metadata.resourceVersion", "FieldValueInvalid")])
    created["spec"]["holderIdentity"] = "you"
    assert client.fetch("PUT", f"{leases(client)}/l", created)["spec"]["holderIdentity"] == "you"
    assert client.expect_refusal("PUT", f"{leases(client)}/l", created)["reason"] == "Conflict"


def test_a_free_lease_has_an_empty_holder(client: Client) -> None:
    client.create(leases(client), lease(holderIdentity="me", leaseDurationSeconds=15))
    assert (
        client.merge(f"{leases(client)}/l", {"spec": {"holderIdentity": ""}})["spec"]["holderIdentity"] == ""
    )


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"leaseDurationSeconds": 0}, 422),
        ({"leaseTransitions": -1}, 422),
        ({"renewTime": "2026-01-01T00:00:00Z"}, 400),
        ({"renewTime": "2026-01-01T00:00:00.000000Z"}, 201),
    ],
)
def test_a_lease_is_validated(client: Client, spec: dict[str, Any], code: int) -> None:
    assert client.send("POST", leases(client), lease(**spec)).status == code


def test_an_event_regards_an_object_in_its_namespace_and_is_selected_by_it(client: Client) -> None:
    target = f"{client.home}/events"
    regarding = {"kind": "Pod", "namespace": client.namespace, "name": "p", "uid": "1234"}
    event = {
        "metadata": {"name": "e"},
        "involvedObject": regarding,
        "reason": "R",
        "message": "m",
        "type": "Normal",
    }
    client.create(target, event)
    client.create(target, event | {"metadata": {"name": "f"}, "reason": "Q"})
    assert names(client.get(f"{target}?fieldSelector=involvedObject.name%3Dp,reason%3DR")) == ["e"]
    elsewhere = event | {"metadata": {"name": "g"}, "involvedObject": regarding | {"namespace": "other"}}
    assert causes(client.expect_refusal("POST", target, elsewhere)) == [
        ("involvedObject.namespace", "FieldValueInvalid")
    ]


def test_a_series_of_events_is_counted_by_patches(client: Client) -> None:
    target = f"/apis/events.k8s.io/v1/namespaces/{client.namespace}/events"
    event = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "namespace": client.namespace, "name": "p"},
        "reason": "R",
        "note": "m",
        "type": "Normal",
        "action": "A",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "suite.test/suite",
        "reportingInstance": "one",
    }
    client.create(target, event)
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:10.000000Z"}}
    assert client.merge(f"{target}/e", series)["series"] == series["series"]


def test_a_secret_accepts_text_and_returns_bytes_and_keeps_its_type(client: Client) -> None:
    secrets = f"{client.home}/secrets"
    created = client.create(secrets, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert (created["data"], created["type"], "stringData" in created) == ({"a": "Yg=="}, "Opaque", False)
    for change in ({"type": "other"}, {"data": {"a b": ""}}):
        assert (
            client.expect_refusal("PATCH", f"{secrets}/s", change, "application/merge-patch+json")["code"]
            == 422
        )
    assert (
        client.expect_refusal("POST", secrets, {"metadata": {"name": "t"}, "data": {"a": "!"}})["code"] == 400
    )


def test_immutable_data_cannot_be_changed(client: Client) -> None:
    client.create(client.configmaps, {"metadata": {"name": "a"}, "data": {"a": "1"}, "immutable": True})
    target = f"{client.configmaps}/a"
    for change, field in (({"data": {"a": "2"}}, "data"), ({"immutable": None}, "immutable")):
        status = client.expect_refusal("PATCH", target, change, "application/merge-patch+json")
        assert causes(status) == [(field, "FieldValueForbidden")]
    assert client.merge(target, {"metadata": {"labels": {"l": "1"}}})["metadata"]["labels"] == {"l": "1"}


@pytest.mark.kubernetes("1.33")
def test_a_deprecated_kind_causes_a_warning(client: Client) -> None:
    answer = client.send("GET", f"{client.home}/endpoints")
    [warning] = answer.warnings
    assert warning.startswith("v1 Endpoints is deprecated")
