"""The actions of the cluster as time passes: garbage collection, definitions, pods that end, and forks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from raw_client import BOOKS, CONFIGMAPS, MERGE, Book, RawClient, event_names

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.crd import definition_of
from kubeproto.objects import encode

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def client() -> RawClient:
    return RawClient()


def owned_by(owner: Any, *, blocks: bool = True) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
                 "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks}  # fmt: skip
    return {"ownerReferences": [reference]}


def test_in_the_background_the_owner_is_deleted_first(client: RawClient) -> None:
    owner = client.config("owner")
    client.config("child", **owned_by(owner))
    assert client.fetch("DELETE", f"{CONFIGMAPS}/owner")["status"] == "Success"
    assert client.cluster.get("v1/ConfigMap", "child")
    client.cluster.advance(0)
    assert client.cluster.get("v1/ConfigMap", "child") is None


def test_in_the_foreground_blocking_dependents_are_deleted_first(client: RawClient) -> None:
    owner = client.config("owner")
    client.config("child", **owned_by(owner), finalizers=["x.io/a"])
    deleted = client.fetch("DELETE", f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    assert deleted["metadata"]["finalizers"] == ["foregroundDeletion"]
    client.cluster.advance(1)
    assert client.cluster.get("v1/ConfigMap", "owner")
    client.fetch("PATCH", f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}}, MERGE)
    client.cluster.advance(1)
    assert client.cluster.get("v1/ConfigMap", "child") is None
    assert client.cluster.get("v1/ConfigMap", "owner") is None


def test_owners_in_a_cycle_do_not_wait_for_each_other(client: RawClient) -> None:
    owner = client.config("owner")
    child = client.config("child", **owned_by(owner))
    client.fetch("PATCH", f"{CONFIGMAPS}/owner", {"metadata": owned_by(child)}, MERGE)
    client.fetch("DELETE", f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    client.cluster.advance(1)
    assert client.cluster.get("v1/ConfigMap", "owner") is None
    assert client.cluster.get("v1/ConfigMap", "child") is None


def test_orphans_stay_and_lose_their_owner_reference(client: RawClient) -> None:
    owner = client.config("owner")
    client.config("child", **owned_by(owner))
    client.fetch("DELETE", f"{CONFIGMAPS}/owner?propagationPolicy=Orphan")
    client.cluster.advance(1)
    assert client.cluster.get("v1/ConfigMap", "owner") is None
    child = client.cluster.get("v1/ConfigMap", "child")
    assert child is not None
    assert "ownerReferences" not in child["metadata"]


def test_a_child_is_deleted_with_its_last_owner(client: RawClient) -> None:
    first, second = client.config("first"), client.config("second")
    references = owned_by(first)["ownerReferences"] + owned_by(second)["ownerReferences"]
    client.config("child", ownerReferences=references)
    client.config("of-nobody", **owned_by({"metadata": {"name": "first", "uid": "another"}}))
    client.fetch("DELETE", f"{CONFIGMAPS}/first")
    client.cluster.advance(1)
    assert client.cluster.get("v1/ConfigMap", "of-nobody") is None
    child = client.cluster.get("v1/ConfigMap", "child")
    assert child is not None
    assert child["metadata"]["ownerReferences"] == owned_by(second)["ownerReferences"]


def test_a_definition_is_served_after_a_moment_and_its_storage_a_moment_later() -> None:
    client = RawClient(sim.Cluster())
    definition = json.loads(encode(definition_of(Book)))
    client.create(DEFINITIONS, definition)
    assert client.send("GET", BOOKS).status == 404
    client.cluster.advance(0.02)
    conditions = client.fetch("GET", f"{DEFINITIONS}/books.example.io")["status"]["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    status = client.expect_refusal("GET", BOOKS)
    assert (status["code"], dict(client.response.headers)["Retry-After"]) == (429, "1")
    book = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "a"}, "spec": {"title": "t"}}
    response = client.send("POST", BOOKS, book)
    assert response.status == 201
    assert response.delay == pytest.approx(0.03)
    client.cluster.advance(0.03)
    assert client.send("GET", BOOKS).status == 200


def test_a_deleted_definition_deletes_its_objects_and_ends_its_watches(client: RawClient) -> None:
    book = client.book("a")
    client.fetch("PATCH", f"{BOOKS}/a", {"metadata": {"finalizers": ["x.io/a"]}}, MERGE)
    watch = client.watch(f"{BOOKS}?resourceVersion={client.cluster.version}")
    client.fetch("DELETE", f"{DEFINITIONS}/books.example.io")
    book["metadata"] = {"name": "b"}
    assert client.expect_refusal("POST", BOOKS, book)["message"].endswith(
        "custom resource definition is terminating"
    )
    client.cluster.advance(1)
    assert event_names(watch.take()) == [("MODIFIED", "a")]
    client.fetch("PATCH", f"{BOOKS}/a", {"metadata": {"finalizers": None}}, MERGE)
    client.cluster.advance(1)
    watch.take()
    assert watch.ended
    assert client.send("GET", BOOKS).status == 404


def test_an_object_is_returned_in_each_served_version() -> None:
    definition = json.loads(encode(definition_of(Book)))
    [first] = definition["spec"]["versions"]
    definition["spec"]["versions"] = [first, first | {"name": "v2", "storage": False}]
    client = RawClient(sim.Cluster(crds=[definition]))
    client.book("a")
    second = BOOKS.replace("/v1/", "/v2/")
    assert client.fetch("GET", f"{second}/a")["apiVersion"] == "example.io/v2"
    watch = client.watch(second)
    client.fetch("PATCH", f"{second}/a", {"spec": {"title": "t"}}, MERGE)
    lines = [json.loads(line)["object"]["apiVersion"] for line in watch.take().splitlines()]
    assert lines == ["example.io/v2", "example.io/v2"]
    assert client.fetch("GET", f"{BOOKS}/a")["apiVersion"] == "example.io/v1"
    assert client.fetch("GET", f"{BOOKS}/a")["spec"]["title"] == "t"


def test_a_fork_is_independent_and_behaves_the_same(client: RawClient) -> None:
    client.book("a")
    twin, same = RawClient(client.cluster.fork()), RawClient(client.cluster.fork())
    assert twin.book("b") == same.book("b")
    assert client.cluster.get(Book, "b") is None
    old = twin.watch(f"{BOOKS}?resourceVersion={client.cluster.version - 1}")
    assert event_names(old.take()) == [("ADDED", "a"), ("ADDED", "b")]


def test_clusters_of_the_same_seed_are_equal_and_of_different_seeds_are_not() -> None:
    first, second = (RawClient(sim.Cluster(crds=[Book], seed=3)).book("a") for _ in range(2))
    assert first == second
    assert (
        RawClient(sim.Cluster(crds=[Book], seed=4)).book("a")["metadata"]["uid"] != first["metadata"]["uid"]
    )


def test_a_cluster_is_prepared_and_inspected_without_requests() -> None:
    cluster = sim.Cluster(crds=[Book])
    created = cluster.put(
        {
            "apiVersion": "example.io/v1",
            "kind": "Book",
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {"title": "t"},
            "status": {"readers": 2},
        }
    )
    assert created["status"] == {"readers": 2}
    assert cluster.put(created | {"spec": {"title": "u"}})["metadata"]["generation"] == 2
    assert cluster.get(Book, "a", "n") == cluster.objects("example.io/v1/Book")[0]
    cluster.edit(Book, "a", lambda obj: obj["spec"].update(title="v"), "n")
    assert cluster.objects(Book)[0]["spec"]["title"] == "v"
    cluster.remove(Book, "a", "n")
    assert cluster.objects(Book) == []
    assert cluster.log == []


def test_waiting_for_a_condition_advances_the_time(client: RawClient) -> None:
    start = client.cluster.now
    client.cluster.later(7, lambda: client.config("a"))
    config = client.cluster.wait(lambda: client.cluster.get("v1/ConfigMap", "a"))
    assert config is not None
    assert config["metadata"]["name"] == "a"
    assert client.cluster.now - start == 7
    with pytest.raises(kp.DeadlineExceeded):
        client.cluster.wait(lambda: client.cluster.get("v1/ConfigMap", "b"), seconds=5)
    assert client.cluster.now - start == 12


def test_the_log_contains_the_requests(client: RawClient) -> None:
    client.send("GET", BOOKS)
    client.cluster.advance(1)
    client.send("GET", f"{BOOKS}/a")
    (first, second) = client.cluster.log
    assert (first.status, second.status, second.time - first.time) == (200, 404, 1)
    assert str(second).endswith(f"GET {BOOKS}/a -> 404")


def test_pods_end_before_the_objects_that_they_use(client: RawClient) -> None:
    client.pod("p", node="n1")
    client.cluster.namespace("n")
    pod = client.cluster.get("v1/Pod", "p")
    assert pod is not None
    client.cluster.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"},
                       "spec": pod["spec"]})  # fmt: skip
    client.cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}})
    client.fetch("DELETE", "/api/v1/namespaces/n")
    client.cluster.advance(20)
    assert client.cluster.get("v1/ConfigMap", "a", "n")
    client.cluster.advance(20)
    assert client.cluster.get("v1/Namespace", "n", "") is None
    assert client.cluster.get("v1/ConfigMap", "a", "n") is None


def test_the_deletion_of_a_former_owner_does_not_affect_the_object(client: RawClient) -> None:
    owner, other = client.config("owner"), client.config("other")
    client.config("child", **owned_by(owner))
    changed = client.fetch("PATCH", f"{CONFIGMAPS}/child", {"metadata": owned_by(other)}, MERGE)
    client.fetch("DELETE", f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    client.cluster.advance(1)
    assert client.cluster.get("v1/ConfigMap", "owner") is None
    assert client.cluster.get("v1/ConfigMap", "child") == changed


def test_a_namespace_that_is_created_again_accepts_objects_while_its_controller_is_stopped(
    client: RawClient,
) -> None:
    client.cluster.namespace("n")
    client.cluster.controllers["namespace-controller"].stop()
    client.fetch("DELETE", "/api/v1/namespaces/n")
    body = {"metadata": {"name": "a"}}
    client.expect_refusal("POST", "/api/v1/namespaces/n/configmaps", body)
    client.cluster.remove("v1/Namespace", "n", "")
    client.cluster.namespace("n")
    client.create("/api/v1/namespaces/n/configmaps", body)


def test_a_controller_that_has_succeeded_forgets_its_failures() -> None:
    cluster = sim.Cluster(controllers=True)
    client = RawClient(cluster)
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    replica_sets = "/apis/apps/v1/namespaces/default/replicasets"
    client.create(replica_sets, {"metadata": {"name": "web"}, "spec": spec})
    for replicas in range(1, 9):
        cluster.settle()
        cluster.controllers["replicaset-controller"].fail(1)
        client.fetch("PATCH", f"{replica_sets}/web", {"spec": {"replicas": replicas}}, MERGE)
        cluster.advance(0.1)
        assert len(cluster.objects("v1/Pod")) == replicas


def test_an_owner_that_waits_for_its_children_is_deleted_in_a_fork_too(client: RawClient) -> None:
    owner = client.config("owner")
    client.config("child", **owned_by(owner), finalizers=["x.io/a"])
    client.fetch("DELETE", f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    client.cluster.advance(1)
    fork = RawClient(client.cluster.fork())
    fork.fetch("PATCH", f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}}, MERGE)
    fork.cluster.advance(1)
    assert fork.cluster.get("v1/ConfigMap", "owner") is None
    assert client.cluster.get("v1/ConfigMap", "owner") is not None
