"""Writes: the fields that a server sets, preserves, refuses and ignores."""

from __future__ import annotations

from typing import Any

import pytest
from asking import APPLY, BOOKS, CONFIGMAPS, JSON_PATCH, MERGE, STRATEGIC, Asker, Book, events, names, told

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.objects import Scale

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def asker() -> Asker:
    return Asker()


def test_sv_11_a_write_that_changes_nothing_keeps_the_version_and_is_not_an_event(asker: Asker) -> None:
    created = asker.config("a")
    watch = asker.watch(f"{CONFIGMAPS}?resourceVersion={asker.cluster.version}")
    asker.cluster.advance(5)
    again = asker.ask("PUT", f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}, "data": {"a": "1"}})
    assert again == created
    asker.ask("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "1"}}, MERGE)
    asker.ask("PATCH", f"{CONFIGMAPS}/a", [{"op": "replace", "path": "/data/a", "value": "1"}], JSON_PATCH)
    assert asker.ask("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "1"}}, STRATEGIC) == created
    assert watch.take() == b""


def test_sv_12_status_is_isolated_in_both_directions_and_generation_counts_other_changes(
    asker: Asker,
) -> None:
    created = asker.create(BOOKS, {
        "apiVersion": "example.io/v1", "kind": "Book",
        "metadata": {"name": "a", "generation": 9}, "spec": {"title": "t"}, "status": {"readers": 3},
    })  # fmt: skip
    assert "status" not in created
    assert created["metadata"]["generation"] == 1
    status = asker.ask(
        "PATCH",
        f"{BOOKS}/a/status",
        {"status": {"readers": 5}, "spec": {"title": "no"}, "metadata": {"labels": {"x": "y"}}},
        MERGE,
    )
    assert (status["status"], status["spec"]["title"]) == ({"readers": 5}, "t")
    assert "labels" not in status["metadata"]
    assert status["metadata"]["generation"] == 1
    spec = asker.ask("PATCH", f"{BOOKS}/a", {"spec": {"title": "u"}, "status": {"readers": 1}}, MERGE)
    assert (spec["status"], spec["metadata"]["generation"]) == ({"readers": 5}, 2)
    asker.book("never-read")
    sneaked = asker.ask("PATCH", f"{BOOKS}/never-read", {"status": {"readers": 1}}, MERGE)
    assert "status" not in sneaked
    labelled = asker.ask("PATCH", f"{BOOKS}/a", {"metadata": {"labels": {"x": "y"}}}, MERGE)
    assert labelled["metadata"]["generation"] == 2
    pod = asker.pod("p")
    patched = asker.ask("PATCH", f"{PODS}/p/status", {"metadata": {"labels": {"x": "y"}}}, MERGE)
    assert patched["metadata"]["labels"] == {"x": "y"}
    assert patched["metadata"]["uid"] == pod["metadata"]["uid"]


def test_sv_13_an_object_exists_until_its_last_finalizer_is_removed(asker: Asker) -> None:
    asker.config("a", finalizers=["x.io/a", "x.io/b"])
    watch = asker.watch(f"{CONFIGMAPS}?resourceVersion={asker.cluster.version}")
    deleted = asker.ask("DELETE", f"{CONFIGMAPS}/a")
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 0
    version = asker.cluster.version
    assert asker.ask("DELETE", f"{CONFIGMAPS}/a") == deleted
    assert asker.cluster.version == version
    null = asker.ask(
        "PATCH", f"{CONFIGMAPS}/a", {"metadata": {"deletionTimestamp": None, "finalizers": ["x.io/b"]}}, MERGE
    )
    assert null["metadata"]["deletionTimestamp"] == deleted["metadata"]["deletionTimestamp"]
    last = asker.ask("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}}, MERGE)
    assert asker.status == 200
    assert asker.ask("GET", f"{CONFIGMAPS}/a")["reason"] == "NotFound"
    received = events(watch.take())
    assert [change for change, _ in received] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert int(received[-1][1]["metadata"]["resourceVersion"]) > int(last["metadata"]["resourceVersion"])


def test_sv_14_no_finalizer_is_added_to_an_object_that_is_being_deleted(asker: Asker) -> None:
    asker.config("a", finalizers=["x.io/a"])
    asker.ask("DELETE", f"{CONFIGMAPS}/a")
    status = asker.refused(
        "PATCH", f"{CONFIGMAPS}/a", {"metadata": {"finalizers": ["x.io/a", "x.io/b"]}}, MERGE
    )
    assert status["details"]["causes"][0]["reason"] == "FieldValueForbidden"


def test_sv_15_preconditions_are_enforced_and_the_grace_period_only_shrinks(asker: Asker) -> None:
    uid = asker.config("a")["metadata"]["uid"]
    for wrong in ({"uid": "x"}, {"resourceVersion": "1"}):
        status = asker.refused("DELETE", f"{CONFIGMAPS}/a", {"preconditions": wrong})
        assert (status["code"], status["details"]["kind"]) == (409, "ConfigMap")
    assert asker.ask("DELETE", f"{CONFIGMAPS}/a", {"preconditions": {"uid": uid}})["status"] == "Success"
    asker.pod("p", node="n1")
    first = asker.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 60})
    assert first["metadata"]["deletionGracePeriodSeconds"] == 60
    assert first["metadata"]["generation"] == 2
    assert asker.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 90}) == first
    shorter = asker.ask("DELETE", f"{PODS}/p?gracePeriodSeconds=10")
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 10
    asker.cluster.advance(9)
    assert asker.cluster.get("v1/Pod", "p")
    asker.cluster.advance(2)
    assert asker.cluster.get("v1/Pod", "p") is None
    asker.pod("q", node="n1")
    asker.ask("DELETE", f"{PODS}/q", {"gracePeriodSeconds": 0})
    assert asker.cluster.get("v1/Pod", "q") is None


def test_sv_16_a_name_is_in_use_until_its_object_is_deleted(asker: Asker) -> None:
    asker.config("a", finalizers=["x.io/a"])
    rejection = asker.refused("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert rejection["message"] == 'configmaps "a" already exists'
    asker.ask("DELETE", f"{CONFIGMAPS}/a")
    going = asker.refused("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert going["message"] == 'object is being deleted: configmaps "a" already exists'


def test_sv_17_names_are_generated_from_the_alphabet_of_the_server(asker: Asker) -> None:
    names = {
        asker.create(CONFIGMAPS, {"metadata": {"generateName": "b" * 70 + "-"}})["metadata"]["name"]
        for _ in range(50)
    }
    assert len(names) == 50
    for name in names:
        assert len(name) == 63
        assert name.startswith("b" * 58)
        assert set(name[58:]) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert asker.refused("POST", CONFIGMAPS, {"metadata": {}})["details"]["causes"][0]["message"] == (
        "Required value: name or generateName is required"
    )


def test_sv_18_a_custom_resource_is_replaced_only_at_its_version(asker: Asker) -> None:
    book = asker.book("a")
    version = book["metadata"].pop("resourceVersion")
    assert asker.refused("PUT", f"{BOOKS}/a", book)["code"] == 422
    book["metadata"]["resourceVersion"] = version
    book["spec"]["title"] = "Typee"
    assert asker.ask("PUT", f"{BOOKS}/a", book)["metadata"]["generation"] == 2
    assert asker.refused("PUT", f"{BOOKS}/a", book)["reason"] == "Conflict"
    assert (
        asker.refused("PUT", f"{BOOKS}/a", book | {"metadata": {"name": "a", "resourceVersion": "x"}})["code"]
        == 500
    )
    assert asker.refused("PUT", f"{BOOKS}/b", book)["code"] == 400
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    asker.ask("PUT", f"{lease}/a", {"metadata": {"name": "a"}})
    assert asker.status == 201
    assert asker.refused("PUT", f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}})["code"] == 404


def test_sv_19_four_types_of_patches_are_supported_and_an_unknown_type_is_refused(asker: Asker) -> None:
    asker.config("a", {"a": "1", "b": "2"})
    path = f"{CONFIGMAPS}/a"
    assert asker.ask("PATCH", path, {"data": {"a": None, "c": "3"}}, MERGE)["data"] == {"b": "2", "c": "3"}
    operations = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "remove", "path": "/data/b"}]
    assert asker.ask("PATCH", path, operations, JSON_PATCH)["data"] == {"c": "3"}
    assert asker.ask("PATCH", path, {"data": {"d": "4"}}, STRATEGIC)["data"] == {"c": "3", "d": "4"}
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"e": "5"}}
    assert asker.ask("PATCH", f"{path}?fieldManager=m", applied, APPLY)["data"] == {
        "c": "3",
        "d": "4",
        "e": "5",
    }
    assert asker.refused("PATCH", path, {}, "application/json")["code"] == 415
    asker.book("b")
    assert "accepted media types include" in asker.refused("PATCH", f"{BOOKS}/b", {}, STRATEGIC)["message"]
    bodies: list[tuple[Any, str]] = [
        (b"", MERGE), ([], MERGE), (None, MERGE), ({}, JSON_PATCH), (b"{", JSON_PATCH), ([3], JSON_PATCH),
    ]  # fmt: skip
    for body, media in bodies:
        assert asker.refused("PATCH", path, body, media)["code"] == 400
    for operations in ([{"op": "remove", "path": "/data/zz"}], [{"op": "spell", "path": "/a"}]):
        status = asker.refused("PATCH", path, operations, JSON_PATCH)
        assert (status["code"], status["details"]) == (422, {})
    assert (
        asker.refused("PATCH", path, [{"op": "test", "path": "", "value": 1}] * 10_001, JSON_PATCH)["code"]
        == 413
    )
    assert asker.refused("PATCH", path, {"metadata": {"name": "z"}}, MERGE)["code"] == 400
    assert asker.refused("PATCH", path, {"metadata": {"uid": "z"}}, MERGE)["code"] == 422
    assert asker.refused("PATCH", f"{path}?force=true", {}, MERGE)["code"] == 422
    assert asker.refused("PATCH", f"{BOOKS}/b", {"metadata": {"resourceVersion": None}}, MERGE)["code"] == 422


def test_sv_20_appliers_own_their_applied_fields(asker: Asker) -> None:
    def apply(manager: str, data: dict[str, str], *, force: bool = False, status: int = 200) -> Any:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
        query = f"fieldManager={manager}" + ("&force=true" if force else "")
        answer = asker.ask("PATCH", f"{CONFIGMAPS}/a?{query}", body, APPLY)
        assert asker.status == status, answer
        return answer

    apply("m1", {"a": "1", "b": "1"}, status=201)
    conflict = apply("m2", {"a": "2"}, status=409)
    assert conflict["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".data.a"}
    ]
    assert apply("m2", {"a": "2"}, force=True)["data"] == {"a": "2", "b": "1"}
    version = asker.cluster.version
    apply("m2", {"a": "2"})
    assert asker.cluster.version == version
    assert apply("m1", {})["data"] == {"a": "2"}
    reset = asker.ask("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"managedFields": [{}]}}, MERGE)
    assert "managedFields" not in reset["metadata"]
    old_entries = apply("m3", {"c": "1"})["metadata"]["managedFields"]
    assert [entry["manager"] for entry in old_entries] == ["m3", "before-first-apply"]
    assert asker.refused("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", {"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"managedFields": []}}, APPLY)["code"] == 400  # fmt: skip
    unknown: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "dta": {}}
    status = asker.refused("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", unknown, APPLY)
    assert (status["code"], "reason" in status) == (500, False)


def test_sv_21_a_collection_is_deleted_by_selector_and_returned_as_a_list(asker: Asker) -> None:
    for name in "abc":
        asker.config(name, labels={"x": "y" if name != "b" else "z"})
    deleted = asker.ask("DELETE", f"{CONFIGMAPS}?labelSelector=x=y")
    assert names(deleted) == ["a", "c"]
    assert "deletionTimestamp" not in deleted["items"][0]["metadata"]
    assert names(asker.ask("GET", CONFIGMAPS)) == ["b"]


def test_sv_22_a_dry_run_leaves_no_trace(asker: Asker) -> None:
    existing = asker.config("kept")
    watch = asker.watch(f"{CONFIGMAPS}?resourceVersion={asker.cluster.version}")
    version = asker.cluster.version
    created = asker.ask("POST", f"{CONFIGMAPS}?dryRun=All", {"metadata": {"generateName": "g-"}})
    assert asker.status == 201
    assert created["metadata"]["uid"]
    assert "resourceVersion" not in created["metadata"]
    patched = asker.ask("PATCH", f"{CONFIGMAPS}/kept?dryRun=All", {"data": {"a": "2"}}, MERGE)
    assert patched["data"] == {"a": "2"}
    assert patched["metadata"]["resourceVersion"] == existing["metadata"]["resourceVersion"]
    assert asker.ask("DELETE", f"{CONFIGMAPS}/kept?dryRun=All")["status"] == "Success"
    assert asker.ask("DELETE", f"{CONFIGMAPS}/kept", {"dryRun": ["All"]})["status"] == "Success"
    assert asker.cluster.version == version
    assert asker.ask("GET", f"{CONFIGMAPS}/kept") == existing
    assert watch.take() == b""
    assert (
        asker.refused("POST", f"{CONFIGMAPS}?dryRun=Some", {"metadata": {"name": "b"}})["details"]["kind"]
        == "CreateOptions"
    )


def test_sv_23_a_scale_reads_and_changes_its_object(asker: Asker) -> None:
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    asker.create(path, {"metadata": {"name": "d"}, "spec": spec})
    scale = asker.ask("GET", f"{path}/d/scale")
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "a=b"})
    scale["spec"]["replicas"] = 5
    assert asker.ask("PUT", f"{path}/d/scale", scale)["spec"] == {"replicas": 5}
    assert asker.refused("PUT", f"{path}/d/scale", scale)["reason"] == "Conflict"
    assert asker.ask("PATCH", f"{path}/d/scale", {"spec": {"replicas": 1}}, MERGE)["spec"] == {"replicas": 1}
    assert asker.ask("GET", f"{path}/d")["spec"]["replicas"] == 1
    assert asker.refused("GET", f"{BOOKS}/d/scale")["code"] == 404


def test_sv_23_a_custom_resource_scales_by_the_paths_of_its_definition() -> None:
    class Shelf(Book, group="example.io", version="v1", plural="shelves", definition=kp.Definition(
        scale=Scale(spec_replicas=".spec.pages", status_replicas=".status.readers")
    )):  # fmt: skip
        """A kind that can be scaled."""

    asker = Asker(sim.Cluster(crds=[Shelf]))
    path = BOOKS.replace("books", "shelves")
    body = {"apiVersion": "example.io/v1", "kind": "Shelf", "metadata": {"name": "a"}, "spec": {"title": "t"}}
    created = asker.create(path, body)
    scale = asker.ask("GET", f"{path}/a/scale")
    assert scale["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert (scale["spec"], scale["status"]) == ({"replicas": 1}, {"replicas": 0})
    assert asker.ask("PUT", f"{path}/a/scale", scale | {"spec": {"replicas": 7}})["spec"] == {"replicas": 7}
    assert asker.ask("GET", f"{path}/a")["spec"] == {"title": "t", "pages": 7, "authors": []}


def test_sv_23_an_eviction_checks_the_budget_and_a_token_has_a_minimum_lifetime(asker: Asker) -> None:
    for name in ("p", "q"):
        asker.pod(name, labels={"app": "x"})
    budget = {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    asker.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    assert asker.ask("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}})["code"] == 201
    refused = asker.refused("POST", f"{PODS}/q/eviction", {"metadata": {"name": "q"}})
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    asker.create(accounts, {"metadata": {"name": "s"}})
    assert asker.create(f"{accounts}/s/token", {"spec": {}})["spec"]["expirationSeconds"] == 3600
    assert asker.refused("POST", f"{accounts}/s/token", {"spec": {"expirationSeconds": 599}})["code"] == 422


def test_sv_23_a_bound_pod_stays_on_its_node_and_needs_a_kubelet_for_its_log(asker: Asker) -> None:
    asker.pod("p")
    assert asker.send("GET", f"{PODS}/p/log").status == 204
    assert asker.create(f"{PODS}/p/binding", {"target": {"name": "n1"}})["status"] == "Success"
    assert (
        asker.refused("POST", f"{PODS}/p/binding", {"target": {"name": "n2"}})["details"]["kind"]
        == "pods/binding"
    )
    assert asker.refused("GET", f"{PODS}/p/log")["message"] == 'pods "n1" not found'


def test_sv_29_a_namespace_that_is_being_deleted_refuses_new_objects_and_deletes_its_objects(
    asker: Asker,
) -> None:
    asker.create("/api/v1/namespaces", {"metadata": {"name": "n"}})
    inside = "/api/v1/namespaces/n/configmaps"
    asker.create(inside, {"metadata": {"name": "a", "finalizers": ["x.io/a"]}})
    asker.create(inside, {"metadata": {"name": "b"}})
    watch = asker.watch(f"{inside}?resourceVersion={asker.cluster.version}")
    assert asker.ask("DELETE", "/api/v1/namespaces/n")["status"] == {"phase": "Terminating"}
    status = asker.refused("POST", inside, {"metadata": {"name": "c"}})
    assert (status["code"], status["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    asker.cluster.advance(1)
    assert told(watch.take()) == [("MODIFIED", "a"), ("DELETED", "b")]
    conditions = asker.ask("GET", "/api/v1/namespaces/n")["status"]["conditions"]
    assert conditions[-1]["status"] == "True"
    assert asker.refused("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})["code"] == 409
    asker.ask("PATCH", f"{inside}/a", {"metadata": {"finalizers": None}}, MERGE)
    asker.cluster.advance(1)
    assert asker.ask("GET", "/api/v1/namespaces/n")["code"] == 404
    assert asker.refused("DELETE", "/api/v1/namespaces/default")["code"] == 403


def test_unknown_fields_are_pruned_with_a_warning_or_refused(asker: Asker) -> None:
    book = asker.book("a", colour="blue")
    assert "colour" not in book["spec"]
    assert ("Warning", '299 - "unknown field \\"spec.colour\\""') in asker.response.headers
    body = {
        "apiVersion": "example.io/v1",
        "kind": "Book",
        "metadata": {"name": "b"},
        "spec": {"title": "t", "x": 1},
    }
    status = asker.refused("POST", f"{BOOKS}?fieldValidation=Strict", body)
    assert (status["code"], status["message"]) == (
        400,
        'Book in version "v1" cannot be handled as a Book: strict decoding error: unknown field "spec.x"',
    )
    odd = asker.refused("PATCH", f"{BOOKS}/a?fieldValidation=Strict", {"spec": {"x": 1}}, MERGE)
    assert odd["code"] == 422
    assert odd["message"].startswith(' "" is invalid: patch: Invalid value: "')
    asker.ask("PATCH", f"{BOOKS}/a?fieldValidation=Ignore", {"spec": {"x": 1}}, MERGE)
    assert not [header for header in asker.response.headers if header[0] == "Warning"]


def test_values_are_stored_in_the_canonical_form_of_a_server(asker: Asker) -> None:
    resources = {"limits": {"cpu": "0.5", "memory": "1024Mi"}, "requests": {"cpu": 0.25}}
    spec = {"containers": [{"name": "c", "image": "a<b", "resources": resources}]}
    created = asker.create(PODS, {"metadata": {"name": "p"}, "spec": spec})
    assert created["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "250m", "memory": "1Gi"},
    }  # fmt: skip
    assert isinstance(asker.response.body, bytes)
    assert b"a\\u003cb" in asker.response.body
    secret = asker.create(
        "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "x"}}
    )
    assert secret["data"] == {"a": "eA=="}
    assert "stringData" not in secret


def test_a_body_over_the_limit_is_refused(asker: Asker) -> None:
    assert asker.refused("POST", CONFIGMAPS, b"x" * (3 * 1024 * 1024 + 1))["code"] == 413
    body = {"metadata": {"name": "a"}, "data": {"a": "x" * (1024 * 1024 + 1)}}
    assert asker.refused("POST", CONFIGMAPS, body)["code"] == 422
    book = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "b"},
            "spec": {"title": "x" * 1_600_000}}  # fmt: skip
    assert asker.refused("POST", BOOKS, book)["message"] == "etcdserver: request is too large"


@pytest.mark.parametrize(
    ("spec", "reason", "field"),
    [
        ({}, "FieldValueRequired", "spec.title"),
        ({"title": 3}, "FieldValueTypeInvalid", "spec.title"),
        ({"title": "t", "authors": [3]}, "FieldValueTypeInvalid", "spec.authors[0]"),
    ],
)
def test_a_custom_resource_that_violates_its_schema_is_refused_with_the_path(
    asker: Asker, spec: dict[str, Any], reason: str, field: str
) -> None:
    body = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "b"}, "spec": spec}
    [cause] = asker.refused("POST", BOOKS, body)["details"]["causes"]
    assert (cause["reason"], cause["field"]) == (reason, field)


def test_a_null_is_omitted_where_there_is_a_default(asker: Asker) -> None:
    assert asker.book("a", pages=None)["spec"] == {"title": "Moby-Dick", "pages": 1, "authors": []}


def test_a_delayed_deletion_is_a_202_only_with_the_old_option(asker: Asker) -> None:
    for name in "abc":
        asker.config(name, finalizers=["x.io/a"])
    assert asker.send("DELETE", f"{CONFIGMAPS}/a?orphanDependents=false").status == 202
    assert asker.send("DELETE", f"{CONFIGMAPS}/b").status == 200
    both = {"orphanDependents": False, "propagationPolicy": "Background"}
    assert asker.refused("DELETE", f"{CONFIGMAPS}/c", both)["details"]["kind"] == "DeleteOptions"
    assert asker.refused("DELETE", f"{CONFIGMAPS}/c?propagationPolicy=Sideways")["code"] == 422


def test_orphaning_and_foreground_deletion_exclude_each_other(asker: Asker) -> None:
    body = {"metadata": {"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}}
    assert asker.refused("POST", CONFIGMAPS, body)["details"]["causes"][0]["field"] == "metadata.finalizers"


def test_a_pod_without_a_node_is_immediately_deleted_after_two_versions(asker: Asker) -> None:
    asker.pod("p")
    version = asker.cluster.version
    deleted = asker.ask("DELETE", f"{PODS}/p")
    assert (deleted["kind"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert asker.cluster.version == version + 2
    assert asker.cluster.get("v1/Pod", "p") is None


def test_each_port_of_a_service_gets_a_node_port_of_its_own(asker: Asker) -> None:
    ports = [{"name": name, "port": port} for name, port in (("a", 80), ("b", 443))]
    node_ports: list[int] = []
    for name in ("first", "second"):
        body = {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports}}
        service = asker.create("/api/v1/namespaces/default/services", body)
        node_ports += [port["nodePort"] for port in service["spec"]["ports"]]
    assert len(set(node_ports)) == 4


def test_a_pod_that_enters_the_scope_of_a_quota_is_charged(asker: Asker) -> None:
    quotas, pods = (f"/api/v1/namespaces/default/{plural}" for plural in ("resourcequotas", "pods"))
    spec = {"hard": {"pods": "1"}, "scopes": ["Terminating"]}
    asker.create(quotas, {"metadata": {"name": "jobs"}, "spec": spec})
    status = {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}
    asker.ask("PATCH", f"{quotas}/jobs/status", status, MERGE)
    for name in "ab":
        asker.pod(name)
    deadline = {"spec": {"activeDeadlineSeconds": 60}}
    asker.ask("PATCH", f"{pods}/a", deadline, MERGE)
    assert asker.ask("GET", f"{quotas}/jobs")["status"]["used"] == {"pods": "1"}
    refusal = asker.refused("PATCH", f"{pods}/b", deadline, MERGE)
    assert "exceeded quota: jobs, requested: pods=1, used: pods=1, limited: pods=1" in refusal["message"]
