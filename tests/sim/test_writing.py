"""Writes: the fields that a server sets, preserves, refuses and ignores."""

from __future__ import annotations

from typing import Any

import pytest
from raw_client import (
    APPLY,
    BOOKS,
    CONFIGMAPS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Book,
    RawClient,
    event_names,
    events,
    names,
)

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.objects import Scale

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def client() -> RawClient:
    return RawClient()


def test_sv_11_a_write_that_changes_nothing_keeps_the_version_and_is_not_an_event(client: RawClient) -> None:
    created = client.config("a")
    watch = client.watch(f"{CONFIGMAPS}?resourceVersion={client.cluster.version}")
    client.cluster.advance(5)
    again = client.fetch("PUT", f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}, "data": {"a": "1"}})
    assert again == created
    client.fetch("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "1"}}, MERGE)
    client.fetch("PATCH", f"{CONFIGMAPS}/a", [{"op": "replace", "path": "/data/a", "value": "1"}], JSON_PATCH)
    assert client.fetch("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "1"}}, STRATEGIC) == created
    assert watch.take() == b""


def test_sv_12_status_is_isolated_in_both_directions_and_generation_counts_other_changes(
    client: RawClient,
) -> None:
    created = client.create(BOOKS, {
        "apiVersion": "example.io/v1", "kind": "Book",
        "metadata": {"name": "a", "generation": 9}, "spec": {"title": "t"}, "status": {"readers": 3},
    })  # fmt: skip
    assert "status" not in created
    assert created["metadata"]["generation"] == 1
    status = client.fetch(
        "PATCH",
        f"{BOOKS}/a/status",
        {"status": {"readers": 5}, "spec": {"title": "no"}, "metadata": {"labels": {"x": "y"}}},
        MERGE,
    )
    assert (status["status"], status["spec"]["title"]) == ({"readers": 5}, "t")
    assert "labels" not in status["metadata"]
    assert status["metadata"]["generation"] == 1
    spec = client.fetch("PATCH", f"{BOOKS}/a", {"spec": {"title": "u"}, "status": {"readers": 1}}, MERGE)
    assert (spec["status"], spec["metadata"]["generation"]) == ({"readers": 5}, 2)
    client.book("never-read")
    sneaked = client.fetch("PATCH", f"{BOOKS}/never-read", {"status": {"readers": 1}}, MERGE)
    assert "status" not in sneaked
    labelled = client.fetch("PATCH", f"{BOOKS}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE)
    assert labelled["metadata"]["generation"] == 2
    pod = client.pod("p")
    patched = client.fetch("PATCH", f"{PODS}/p/status", {"metadata": {"labels": {"x": "y"}}}, MERGE)
    assert patched["metadata"]["labels"] == {"x": "y"}
    assert patched["metadata"]["uid"] == pod["metadata"]["uid"]


def test_sv_13_an_object_exists_until_its_last_finalizer_is_removed(client: RawClient) -> None:
    client.config("a", finalizers=["x.io/a", "x.io/b"])
    watch = client.watch(f"{CONFIGMAPS}?resourceVersion={client.cluster.version}")
    deleted = client.fetch("DELETE", f"{CONFIGMAPS}/a")
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 0
    version = client.cluster.version
    assert client.fetch("DELETE", f"{CONFIGMAPS}/a") == deleted
    assert client.cluster.version == version
    null = client.fetch(
        "PATCH", f"{CONFIGMAPS}/a", {"metadata": {"deletionTimestamp": None, "finalizers": ["x.io/b"]}}, MERGE
    )
    assert null["metadata"]["deletionTimestamp"] == deleted["metadata"]["deletionTimestamp"]
    last = client.fetch("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}}, MERGE)
    assert client.status == 200
    assert client.fetch("GET", f"{CONFIGMAPS}/a")["reason"] == "NotFound"
    received = events(watch.take())
    assert [change for change, _ in received] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert int(received[-1][1]["metadata"]["resourceVersion"]) > int(last["metadata"]["resourceVersion"])


def test_sv_14_no_finalizer_is_added_to_an_object_that_is_being_deleted(client: RawClient) -> None:
    client.config("a", finalizers=["x.io/a"])
    client.fetch("DELETE", f"{CONFIGMAPS}/a")
    status = client.expect_refusal(
        "PATCH", f"{CONFIGMAPS}/a", {"metadata": {"finalizers": ["x.io/a", "x.io/b"]}}, MERGE
    )
    assert status["details"]["causes"][0]["reason"] == "FieldValueForbidden"


def test_sv_15_preconditions_are_enforced_and_the_grace_period_only_shrinks(client: RawClient) -> None:
    uid = client.config("a")["metadata"]["uid"]
    for wrong in ({"uid": "x"}, {"resourceVersion": "1"}):
        status = client.expect_refusal("DELETE", f"{CONFIGMAPS}/a", {"preconditions": wrong})
        assert (status["code"], status["details"]["kind"]) == (409, "ConfigMap")
    assert client.fetch("DELETE", f"{CONFIGMAPS}/a", {"preconditions": {"uid": uid}})["status"] == "Success"
    client.pod("p", node="n1")
    first = client.fetch("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 60})
    assert first["metadata"]["deletionGracePeriodSeconds"] == 60
    assert first["metadata"]["generation"] == 2
    assert client.fetch("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 90}) == first
    shorter = client.fetch("DELETE", f"{PODS}/p?gracePeriodSeconds=10")
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 10
    client.cluster.advance(9)
    assert client.cluster.get("v1/Pod", "p")
    client.cluster.advance(2)
    assert client.cluster.get("v1/Pod", "p") is None
    client.pod("q", node="n1")
    client.fetch("DELETE", f"{PODS}/q", {"gracePeriodSeconds": 0})
    assert client.cluster.get("v1/Pod", "q") is None


def test_sv_16_a_name_is_in_use_until_its_object_is_deleted(client: RawClient) -> None:
    client.config("a", finalizers=["x.io/a"])
    rejection = client.expect_refusal("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert rejection["message"] == 'configmaps "a" already exists'
    client.fetch("DELETE", f"{CONFIGMAPS}/a")
    going = client.expect_refusal("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert going["message"] == 'object is being deleted: configmaps "a" already exists'


def test_sv_17_names_are_generated_from_the_alphabet_of_the_server(client: RawClient) -> None:
    names = {
        client.create(CONFIGMAPS, {"metadata": {"generateName": "b" * 70 + "-"}})["metadata"]["name"]
        for _ in range(50)
    }
    assert len(names) == 50
    for name in names:
        assert len(name) == 63
        assert name.startswith("b" * 58)
        assert set(name[58:]) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert client.expect_refusal("POST", CONFIGMAPS, {"metadata": {}})["details"]["causes"][0]["message"] == (
        "Required value: name or generateName is required"
    )


def test_sv_18_a_custom_resource_is_replaced_only_at_its_version(client: RawClient) -> None:
    book = client.book("a")
    version = book["metadata"].pop("resourceVersion")
    assert client.expect_refusal("PUT", f"{BOOKS}/a", book)["code"] == 422
    book["metadata"]["resourceVersion"] = version
    book["spec"]["title"] = "Typee"
    assert client.fetch("PUT", f"{BOOKS}/a", book)["metadata"]["generation"] == 2
    assert client.expect_refusal("PUT", f"{BOOKS}/a", book)["reason"] == "Conflict"
    assert (
        client.expect_refusal(
            "PUT", f"{BOOKS}/a", book | {"metadata": {"name": "a", "resourceVersion": "x"}}
        )["code"]
        == 500
    )
    assert client.expect_refusal("PUT", f"{BOOKS}/b", book)["code"] == 400
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    client.fetch("PUT", f"{lease}/a", {"metadata": {"name": "a"}})
    assert client.status == 201
    assert client.expect_refusal("PUT", f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}})["code"] == 404


def test_sv_19_four_types_of_patches_are_supported_and_an_unknown_type_is_refused(client: RawClient) -> None:
    client.config("a", {"a": "1", "b": "2"})
    path = f"{CONFIGMAPS}/a"
    assert client.fetch("PATCH", path, {"data": {"a": None, "c": "3"}}, MERGE)["data"] == {"b": "2", "c": "3"}
    operations = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "remove", "path": "/data/b"}]
    assert client.fetch("PATCH", path, operations, JSON_PATCH)["data"] == {"c": "3"}
    assert client.fetch("PATCH", path, {"data": {"d": "4"}}, STRATEGIC)["data"] == {"c": "3", "d": "4"}
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"e": "5"}}
    assert client.fetch("PATCH", f"{path}?fieldManager=m", applied, APPLY)["data"] == {
        "c": "3",
        "d": "4",
        "e": "5",
    }
    assert client.expect_refusal("PATCH", path, {}, "application/json")["code"] == 415
    client.book("b")
    assert (
        "accepted media types include"
        in client.expect_refusal("PATCH", f"{BOOKS}/b", {}, STRATEGIC)["message"]
    )
    bodies: list[tuple[Any, str]] = [
        (b"", MERGE), ([], MERGE), (None, MERGE), ({}, JSON_PATCH), (b"{", JSON_PATCH), ([3], JSON_PATCH),
    ]  # fmt: skip
    for body, media in bodies:
        assert client.expect_refusal("PATCH", path, body, media)["code"] == 400
    for operations in ([{"op": "remove", "path": "/data/zz"}], [{"op": "spell", "path": "/a"}]):
        status = client.expect_refusal("PATCH", path, operations, JSON_PATCH)
        assert (status["code"], status["details"]) == (422, {})
    assert (
        client.expect_refusal("PATCH", path, [{"op": "test", "path": "", "value": 1}] * 10_001, JSON_PATCH)[
            "code"
        ]
        == 413
    )
    assert client.expect_refusal("PATCH", path, {"metadata": {"name": "z"}}, MERGE)["code"] == 400
    assert client.expect_refusal("PATCH", path, {"metadata": {"uid": "z"}}, MERGE)["code"] == 422
    assert client.expect_refusal("PATCH", f"{path}?force=true", {}, MERGE)["code"] == 422
    assert (
        client.expect_refusal("PATCH", f"{BOOKS}/b", {"metadata": {"resourceVersion": None}}, MERGE)["code"]
        == 422
    )


def test_sv_20_appliers_own_their_applied_fields(client: RawClient) -> None:
    def apply(manager: str, data: dict[str, str], *, force: bool = False, status: int = 200) -> Any:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
        query = f"fieldManager={manager}" + ("&force=true" if force else "")
        answer = client.fetch("PATCH", f"{CONFIGMAPS}/a?{query}", body, APPLY)
        assert client.status == status, answer
        return answer

    apply("m1", {"a": "1", "b": "1"}, status=201)
    conflict = apply("m2", {"a": "2"}, status=409)
    assert conflict["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".data.a"}
    ]
    assert apply("m2", {"a": "2"}, force=True)["data"] == {"a": "2", "b": "1"}
    version = client.cluster.version
    apply("m2", {"a": "2"})
    assert client.cluster.version == version
    assert apply("m1", {})["data"] == {"a": "2"}
    reset = client.fetch("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"managedFields": [{}]}}, MERGE)
    assert "managedFields" not in reset["metadata"]
    old_entries = apply("m3", {"c": "1"})["metadata"]["managedFields"]
    assert [entry["manager"] for entry in old_entries] == ["m3", "before-first-apply"]
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": []}}
    refusal = client.expect_refusal("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", body, APPLY)
    assert refusal["code"] == 400
    unknown: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "dta": {}}
    status = client.expect_refusal("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", unknown, APPLY)
    assert (status["code"], "reason" in status) == (500, False)


def test_sv_21_a_collection_is_deleted_by_selector_and_returned_as_a_list(client: RawClient) -> None:
    for name in "abc":
        client.config(name, labels={"x": "y" if name != "b" else "z"})
    deleted = client.fetch("DELETE", f"{CONFIGMAPS}?labelSelector=x=y")
    assert names(deleted) == ["a", "c"]
    assert "deletionTimestamp" not in deleted["items"][0]["metadata"]
    assert names(client.fetch("GET", CONFIGMAPS)) == ["b"]


def test_sv_22_a_dry_run_leaves_no_trace(client: RawClient) -> None:
    existing = client.config("kept")
    watch = client.watch(f"{CONFIGMAPS}?resourceVersion={client.cluster.version}")
    version = client.cluster.version
    created = client.fetch("POST", f"{CONFIGMAPS}?dryRun=All", {"metadata": {"generateName": "g-"}})
    assert client.status == 201
    assert created["metadata"]["uid"]
    assert "resourceVersion" not in created["metadata"]
    patched = client.fetch("PATCH", f"{CONFIGMAPS}/kept?dryRun=All", {"data": {"a": "2"}}, MERGE)
    assert patched["data"] == {"a": "2"}
    assert patched["metadata"]["resourceVersion"] == existing["metadata"]["resourceVersion"]
    assert client.fetch("DELETE", f"{CONFIGMAPS}/kept?dryRun=All")["status"] == "Success"
    assert client.fetch("DELETE", f"{CONFIGMAPS}/kept", {"dryRun": ["All"]})["status"] == "Success"
    assert client.cluster.version == version
    assert client.fetch("GET", f"{CONFIGMAPS}/kept") == existing
    assert watch.take() == b""
    assert (
        client.expect_refusal("POST", f"{CONFIGMAPS}?dryRun=Some", {"metadata": {"name": "b"}})["details"][
            "kind"
        ]
        == "CreateOptions"
    )


def test_sv_23_a_scale_reads_and_changes_its_object(client: RawClient) -> None:
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    client.create(path, {"metadata": {"name": "d"}, "spec": spec})
    scale = client.fetch("GET", f"{path}/d/scale")
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "a=b"})
    scale["spec"]["replicas"] = 5
    assert client.fetch("PUT", f"{path}/d/scale", scale)["spec"] == {"replicas": 5}
    assert client.expect_refusal("PUT", f"{path}/d/scale", scale)["reason"] == "Conflict"
    assert client.fetch("PATCH", f"{path}/d/scale", {"spec": {"replicas": 1}}, MERGE)["spec"] == {
        "replicas": 1
    }
    assert client.fetch("GET", f"{path}/d")["spec"]["replicas"] == 1
    assert client.expect_refusal("GET", f"{BOOKS}/d/scale")["code"] == 404


def test_sv_23_a_custom_resource_scales_by_the_paths_of_its_definition() -> None:
    class Shelf(Book, group="example.io", version="v1", plural="shelves", definition=kp.Definition(
        scale=Scale(spec_replicas=".spec.pages", status_replicas=".status.readers")
    )):  # fmt: skip
        """A kind that can be scaled."""

    client = RawClient(sim.Cluster(crds=[Shelf]))
    path = BOOKS.replace("books", "shelves")
    body = {"apiVersion": "example.io/v1", "kind": "Shelf", "metadata": {"name": "a"}, "spec": {"title": "t"}}
    created = client.create(path, body)
    scale = client.fetch("GET", f"{path}/a/scale")
    assert scale["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert (scale["spec"], scale["status"]) == ({"replicas": 1}, {"replicas": 0})
    assert client.fetch("PUT", f"{path}/a/scale", scale | {"spec": {"replicas": 7}})["spec"] == {
        "replicas": 7
    }
    assert client.fetch("GET", f"{path}/a")["spec"] == {"title": "t", "pages": 7, "authors": []}


def test_sv_23_an_eviction_checks_the_budget_and_a_token_has_a_minimum_lifetime(client: RawClient) -> None:
    for name in ("p", "q"):
        client.pod(name, labels={"app": "x"})
    budget = {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    client.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    assert client.fetch("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}})["code"] == 201
    refused = client.expect_refusal("POST", f"{PODS}/q/eviction", {"metadata": {"name": "q"}})
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    client.create(accounts, {"metadata": {"name": "s"}})
    assert client.create(f"{accounts}/s/token", {"spec": {}})["spec"]["expirationSeconds"] == 3600
    assert (
        client.expect_refusal("POST", f"{accounts}/s/token", {"spec": {"expirationSeconds": 599}})["code"]
        == 422
    )


def test_sv_23_a_bound_pod_stays_on_its_node_and_needs_a_kubelet_for_its_log(client: RawClient) -> None:
    client.pod("p")
    assert client.send("GET", f"{PODS}/p/log").status == 204
    assert client.create(f"{PODS}/p/binding", {"target": {"name": "n1"}})["status"] == "Success"
    assert (
        client.expect_refusal("POST", f"{PODS}/p/binding", {"target": {"name": "n2"}})["details"]["kind"]
        == "pods/binding"
    )
    assert client.expect_refusal("GET", f"{PODS}/p/log")["message"] == 'pods "n1" not found'


def test_sv_29_a_namespace_that_is_being_deleted_refuses_new_objects_and_deletes_its_objects(
    client: RawClient,
) -> None:
    client.create("/api/v1/namespaces", {"metadata": {"name": "n"}})
    inside = "/api/v1/namespaces/n/configmaps"
    client.create(inside, {"metadata": {"name": "a", "finalizers": ["x.io/a"]}})
    client.create(inside, {"metadata": {"name": "b"}})
    watch = client.watch(f"{inside}?resourceVersion={client.cluster.version}")
    assert client.fetch("DELETE", "/api/v1/namespaces/n")["status"] == {"phase": "Terminating"}
    status = client.expect_refusal("POST", inside, {"metadata": {"name": "c"}})
    assert (status["code"], status["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    client.cluster.advance(1)
    assert event_names(watch.take()) == [("MODIFIED", "a"), ("DELETED", "b")]
    conditions = client.fetch("GET", "/api/v1/namespaces/n")["status"]["conditions"]
    assert conditions[-1]["status"] == "True"
    assert client.expect_refusal("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})["code"] == 409
    client.fetch("PATCH", f"{inside}/a", {"metadata": {"finalizers": None}}, MERGE)
    client.cluster.advance(1)
    assert client.fetch("GET", "/api/v1/namespaces/n")["code"] == 404
    assert client.expect_refusal("DELETE", "/api/v1/namespaces/default")["code"] == 403


def test_unknown_fields_are_pruned_with_a_warning_or_refused(client: RawClient) -> None:
    book = client.book("a", colour="blue")
    assert "colour" not in book["spec"]
    assert ("Warning", '299 - "unknown field \\"spec.colour\\""') in client.response.headers
    body = {
        "apiVersion": "example.io/v1",
        "kind": "Book",
        "metadata": {"name": "b"},
        "spec": {"title": "t", "x": 1},
    }
    status = client.expect_refusal("POST", f"{BOOKS}?fieldValidation=Strict", body)
    assert (status["code"], status["message"]) == (
        400,
        'Book in version "v1" cannot be handled as a Book: strict decoding error: unknown field "spec.x"',
    )
    odd = client.expect_refusal("PATCH", f"{BOOKS}/a?fieldValidation=Strict", {"spec": {"x": 1}}, MERGE)
    assert odd["code"] == 422
    assert odd["message"].startswith(' "" is invalid: patch: Invalid value: "')
    client.fetch("PATCH", f"{BOOKS}/a?fieldValidation=Ignore", {"spec": {"x": 1}}, MERGE)
    assert not [header for header in client.response.headers if header[0] == "Warning"]


def test_values_are_stored_in_the_canonical_form_of_a_server(client: RawClient) -> None:
    resources = {"limits": {"cpu": "0.5", "memory": "1024Mi"}, "requests": {"cpu": 0.25}}
    spec = {"containers": [{"name": "c", "image": "a<b", "resources": resources}]}
    created = client.create(PODS, {"metadata": {"name": "p"}, "spec": spec})
    assert created["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "250m", "memory": "1Gi"},
    }  # fmt: skip
    assert isinstance(client.response.body, bytes)
    assert b"a\\u003cb" in client.response.body
    secret = client.create(
        "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "x"}}
    )
    assert secret["data"] == {"a": "eA=="}
    assert "stringData" not in secret


def test_a_body_over_the_limit_is_refused(client: RawClient) -> None:
    assert client.expect_refusal("POST", CONFIGMAPS, b"x" * (3 * 1024 * 1024 + 1))["code"] == 413
    body = {"metadata": {"name": "a"}, "data": {"a": "x" * (1024 * 1024 + 1)}}
    assert client.expect_refusal("POST", CONFIGMAPS, body)["code"] == 422
    book = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "b"},
            "spec": {"title": "x" * 1_600_000}}  # fmt: skip
    assert client.expect_refusal("POST", BOOKS, book)["message"] == "etcdserver: request is too large"


@pytest.mark.parametrize(
    ("spec", "reason", "field"),
    [
        ({}, "FieldValueRequired", "spec.title"),
        ({"title": 3}, "FieldValueTypeInvalid", "spec.title"),
        ({"title": "t", "authors": [3]}, "FieldValueTypeInvalid", "spec.authors[0]"),
    ],
)
def test_a_custom_resource_that_violates_its_schema_is_refused_with_the_path(
    client: RawClient, spec: dict[str, Any], reason: str, field: str
) -> None:
    body = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "b"}, "spec": spec}
    [cause] = client.expect_refusal("POST", BOOKS, body)["details"]["causes"]
    assert (cause["reason"], cause["field"]) == (reason, field)


def test_a_null_is_omitted_where_there_is_a_default(client: RawClient) -> None:
    assert client.book("a", pages=None)["spec"] == {"title": "Moby-Dick", "pages": 1, "authors": []}


def test_a_delayed_deletion_is_a_202_only_with_the_old_option(client: RawClient) -> None:
    for name in "abc":
        client.config(name, finalizers=["x.io/a"])
    assert client.send("DELETE", f"{CONFIGMAPS}/a?orphanDependents=false").status == 202
    assert client.send("DELETE", f"{CONFIGMAPS}/b").status == 200
    both = {"orphanDependents": False, "propagationPolicy": "Background"}
    assert client.expect_refusal("DELETE", f"{CONFIGMAPS}/c", both)["details"]["kind"] == "DeleteOptions"
    assert client.expect_refusal("DELETE", f"{CONFIGMAPS}/c?propagationPolicy=Sideways")["code"] == 422


def test_orphaning_and_foreground_deletion_exclude_each_other(client: RawClient) -> None:
    body = {"metadata": {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}}
    assert (
        client.expect_refusal("POST", CONFIGMAPS, body)["details"]["causes"][0]["field"]
        == "metadata.finalizers"
    )


def test_a_pod_without_a_node_is_immediately_deleted_after_two_versions(client: RawClient) -> None:
    client.pod("p")
    version = client.cluster.version
    deleted = client.fetch("DELETE", f"{PODS}/p")
    assert (deleted["kind"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert client.cluster.version == version + 2
    assert client.cluster.get("v1/Pod", "p") is None


def test_each_port_of_a_service_gets_a_node_port_of_its_own(client: RawClient) -> None:
    ports = [{"name": name, "port": port} for name, port in (("a", 80), ("b", 443))]
    node_ports: list[int] = []
    for name in ("first", "second"):
        body = {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports}}
        service = client.create("/api/v1/namespaces/default/services", body)
        node_ports += [port["nodePort"] for port in service["spec"]["ports"]]
    assert len(set(node_ports)) == 4


def test_a_pod_that_enters_the_scope_of_a_quota_is_charged(client: RawClient) -> None:
    quotas, pods = (f"/api/v1/namespaces/default/{plural}" for plural in ("resourcequotas", "pods"))
    spec = {"hard": {"pods": "1"}, "scopes": ["Terminating"]}
    client.create(quotas, {"metadata": {"name": "jobs"}, "spec": spec})
    status = {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}
    client.fetch("PATCH", f"{quotas}/jobs/status", status, MERGE)
    for name in "ab":
        client.pod(name)
    deadline = {"spec": {"activeDeadlineSeconds": 60}}
    client.fetch("PATCH", f"{pods}/a", deadline, MERGE)
    assert client.fetch("GET", f"{quotas}/jobs")["status"]["used"] == {"pods": "1"}
    refusal = client.expect_refusal("PATCH", f"{pods}/b", deadline, MERGE)
    assert "exceeded quota: jobs, requested: pods=1, used: pods=1, limited: pods=1" in refusal["message"]
