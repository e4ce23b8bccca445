"""What a server says of itself, and the kinds that every cluster lives by: events, leases, secrets."""

from __future__ import annotations

from typing import Any

import pytest
from asked_release import RELEASE, number

import kubeproto as kp
from conformance.client import AGGREGATED, Client, causes, names
from kubeproto.requests import DiscoveryProgress


def test_sv_25_discovery_in_one_piece_has_a_tag_and_is_not_sent_twice(client: Client) -> None:
    answer = client.send("GET", "/apis", Accept=AGGREGATED)
    groups = {item["metadata"]["name"]: item for item in answer.json["items"]}
    [version] = [one for one in groups["suite.test"]["versions"] if one["version"] == "v1"]
    resources = {one["resource"]: one for one in version["resources"]}
    found = resources["foos"]
    assert (found["scope"], found["shortNames"], found["categories"]) == ("Namespaced", ["fo"], ["all"])
    assert found["responseKind"] == {"group": "suite.test", "version": "v1", "kind": "Foo"}
    assert [one["subresource"] for one in found["subresources"]] == ["status", "scale"]
    assert resources["bars"]["scope"] == "Cluster"

    def not_sent_twice() -> bool:
        # The definition of another test may just come or go, which is another tag.
        tag = client.send("GET", "/apis", Accept=AGGREGATED).header("Etag")
        again = client.send("GET", "/apis", Accept=AGGREGATED, If_None_Match=tag)
        return (again.status, again.body) == (304, b"")

    client.eventually(not_sent_twice)


def test_legacy_discovery_lists_groups_and_their_resources(client: Client) -> None:
    assert client.get("/api")["versions"] == ["v1"]
    groups = {one["name"]: one for one in client.get("/apis")["groups"]}
    assert groups["suite.test"]["preferredVersion"] == {"groupVersion": "suite.test/v1", "version": "v1"}
    assert {"apps", "batch", "coordination.k8s.io"} <= groups.keys()
    listed = {one["name"]: one for one in client.get("/apis/suite.test/v1")["resources"]}
    assert listed["foos"]["kind"] == "Foo"
    assert listed["foos/scale"]["kind"] == "Scale"
    core = {one["name"]: one for one in client.get("/api/v1")["resources"]}
    assert core["pods/eviction"]["kind"] == "Eviction"
    assert core["configmaps"]["namespaced"]


def test_the_core_discovers_the_kinds_of_the_suite(client: Client) -> None:
    state = DiscoveryProgress()
    while state.result is None:
        request = state.requests[0]
        with client.server.transport.send(request, timeout=60.0) as got:
            state = state.receive(request, got.status, got.headers, b"".join(got))
    found = state.result.find("foos", group="suite.test")
    assert found is not None
    assert (found.kind, found.namespaced) == ("Foo", True)


def test_a_server_says_its_version_and_that_it_is_well(client: Client) -> None:
    version = client.call(kp.requests.version()).value
    assert version.release == number(RELEASE)
    for path in ("/livez", "/readyz", "/healthz"):
        answer = client.send("GET", path)
        assert (answer.status, answer.body) == (200, b"ok")


def leases(client: Client) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{client.namespace}/leases"


def lease(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "l"}, "spec": spec}


def test_a_lease_is_replaced_at_its_version_only(client: Client) -> None:
    made = client.create(leases(client), lease(holderIdentity="me", leaseDurationSeconds=15))
    status = client.refused("PUT", f"{leases(client)}/l", lease(holderIdentity="you"))
    assert (status["code"], causes(status)) == (422, [("metadata.resourceVersion", "FieldValueInvalid")])
    made["spec"]["holderIdentity"] = "you"
    assert client.ask("PUT", f"{leases(client)}/l", made)["spec"]["holderIdentity"] == "you"
    assert client.refused("PUT", f"{leases(client)}/l", made)["reason"] == "Conflict"


def test_a_lease_that_nobody_holds_says_so_by_an_empty_name(client: Client) -> None:
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
def test_a_lease_is_checked(client: Client, spec: dict[str, Any], code: int) -> None:
    assert client.send("POST", leases(client), lease(**spec)).status == code


def test_an_event_is_about_something_in_its_namespace_and_found_by_it(client: Client) -> None:
    target = f"{client.home}/events"
    about = {"kind": "Pod", "namespace": client.namespace, "name": "p", "uid": "1234"}
    event = {
        "metadata": {"name": "e"},
        "involvedObject": about,
        "reason": "R",
        "message": "m",
        "type": "Normal",
    }
    client.create(target, event)
    client.create(target, event | {"metadata": {"name": "f"}, "reason": "Q"})
    assert names(client.get(f"{target}?fieldSelector=involvedObject.name%3Dp,reason%3DR")) == ["e"]
    elsewhere = event | {"metadata": {"name": "g"}, "involvedObject": about | {"namespace": "other"}}
    assert causes(client.refused("POST", target, elsewhere)) == [
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


def test_a_secret_takes_texts_and_gives_bytes_and_keeps_its_type(client: Client) -> None:
    secrets = f"{client.home}/secrets"
    made = client.create(secrets, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert (made["data"], made["type"], "stringData" in made) == ({"a": "Yg=="}, "Opaque", False)
    for change in ({"type": "other"}, {"data": {"a b": ""}}):
        assert client.refused("PATCH", f"{secrets}/s", change, "application/merge-patch+json")["code"] == 422
    assert client.refused("POST", secrets, {"metadata": {"name": "t"}, "data": {"a": "!"}})["code"] == 400


def test_what_is_immutable_stays_as_it_is(client: Client) -> None:
    client.create(client.configmaps, {"metadata": {"name": "a"}, "data": {"a": "1"}, "immutable": True})
    target = f"{client.configmaps}/a"
    for change, field in (({"data": {"a": "2"}}, "data"), ({"immutable": None}, "immutable")):
        status = client.refused("PATCH", target, change, "application/merge-patch+json")
        assert causes(status) == [(field, "FieldValueForbidden")]
    assert client.merge(target, {"metadata": {"labels": {"l": "1"}}})["metadata"]["labels"] == {"l": "1"}


@pytest.mark.kubernetes("1.33")
def test_a_deprecated_kind_is_warned_of(client: Client) -> None:
    answer = client.send("GET", f"{client.home}/endpoints")
    [warning] = answer.warnings
    assert warning.startswith("v1 Endpoints is deprecated")
