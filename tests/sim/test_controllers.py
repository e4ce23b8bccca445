"""The actions of the cluster as time passes: garbage collection, definitions, pods that end, and forks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import BOOKS, CONFIGMAPS, MERGE, Asker, Book, told

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.crd import definition_of
from kubeproto.objects import encode

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def asker() -> Asker:
    return Asker()


def owned_by(owner: Any, *, blocks: bool = True) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
                 "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks}  # fmt: skip
    return {"ownerReferences": [reference]}


def test_in_the_background_the_owner_is_deleted_first(asker: Asker) -> None:
    owner = asker.config("owner")
    asker.config("child", **owned_by(owner))
    assert asker.ask("DELETE", f"{CONFIGMAPS}/owner")["status"] == "Success"
    assert asker.cluster.get("v1/ConfigMap", "child")
    asker.cluster.advance(0)
    assert asker.cluster.get("v1/ConfigMap", "child") is None


def test_in_the_foreground_blocking_dependents_are_deleted_first(asker: Asker) -> None:
    owner = asker.config("owner")
    asker.config("child", **owned_by(owner), finalizers=["x.io/a"])
    deleted = asker.ask("DELETE", f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    assert deleted["metadata"]["finalizers"] == ["foregroundDeletion"]
    asker.cluster.advance(1)
    assert asker.cluster.get("v1/ConfigMap", "owner")
    asker.ask("PATCH", f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}}, MERGE)
    asker.cluster.advance(1)
    assert asker.cluster.get("v1/ConfigMap", "child") is None
    assert asker.cluster.get("v1/ConfigMap", "owner") is None


def test_owners_in_a_cycle_do_not_wait_for_each_other(asker: Asker) -> None:
    owner = asker.config("owner")
    child = asker.config("child", **owned_by(owner))
    asker.ask("PATCH", f"{CONFIGMAPS}/owner", {"metadata": owned_by(child)}, MERGE)
    asker.ask("DELETE", f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    asker.cluster.advance(1)
    assert asker.cluster.get("v1/ConfigMap", "owner") is None
    assert asker.cluster.get("v1/ConfigMap", "child") is None


def test_orphans_stay_and_lose_their_owner_reference(asker: Asker) -> None:
    owner = asker.config("owner")
    asker.config("child", **owned_by(owner))
    asker.ask("DELETE", f"{CONFIGMAPS}/owner?propagationPolicy=Orphan")
    asker.cluster.advance(1)
    assert asker.cluster.get("v1/ConfigMap", "owner") is None
    child = asker.cluster.get("v1/ConfigMap", "child")
    assert child is not None
    assert "ownerReferences" not in child["metadata"]


def test_a_child_is_deleted_with_its_last_owner(asker: Asker) -> None:
    first, second = asker.config("first"), asker.config("second")
    references = owned_by(first)["ownerReferences"] + owned_by(second)["ownerReferences"]
    asker.config("child", ownerReferences=references)
    asker.config("of-nobody", **owned_by({"metadata": {"name": "first", "uid": "another"}}))
    asker.ask("DELETE", f"{CONFIGMAPS}/first")
    asker.cluster.advance(1)
    assert asker.cluster.get("v1/ConfigMap", "of-nobody") is None
    child = asker.cluster.get("v1/ConfigMap", "child")
    assert child is not None
    assert child["metadata"]["ownerReferences"] == owned_by(second)["ownerReferences"]


def test_a_definition_is_served_after_a_moment_and_its_storage_a_moment_later() -> None:
    asker = Asker(sim.Cluster())
    definition = json.loads(encode(definition_of(Book)))
    asker.create(DEFINITIONS, definition)
    assert asker.send("GET", BOOKS).status == 404
    asker.cluster.advance(0.02)
    conditions = asker.ask("GET", f"{DEFINITIONS}/books.example.io")["status"]["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    status = asker.refused("GET", BOOKS)
    assert (status["code"], dict(asker.response.headers)["Retry-After"]) == (429, "1")
    book = {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "a"}, "spec": {"title": "t"}}
    response = asker.send("POST", BOOKS, book)
    assert response.status == 201
    assert response.delay == pytest.approx(0.03)
    asker.cluster.advance(0.03)
    assert asker.send("GET", BOOKS).status == 200


def test_a_deleted_definition_deletes_its_objects_and_ends_its_watches(asker: Asker) -> None:
    book = asker.book("a")
    asker.ask("PATCH", f"{BOOKS}/a", {"metadata": {"finalizers": ["x.io/a"]}}, MERGE)
    watch = asker.watch(f"{BOOKS}?resourceVersion={asker.cluster.version}")
    asker.ask("DELETE", f"{DEFINITIONS}/books.example.io")
    book["metadata"] = {"name": "b"}
    assert asker.refused("POST", BOOKS, book)["message"].endswith("custom resource definition is terminating")
    asker.cluster.advance(1)
    assert told(watch.take()) == [("MODIFIED", "a")]
    asker.ask("PATCH", f"{BOOKS}/a", {"metadata": {"finalizers": None}}, MERGE)
    asker.cluster.advance(1)
    watch.take()
    assert watch.ended
    assert asker.send("GET", BOOKS).status == 404


def test_an_object_is_returned_in_each_served_version() -> None:
    definition = json.loads(encode(definition_of(Book)))
    [first] = definition["spec"]["versions"]
    definition["spec"]["versions"] = [first, first | {"name": "v2", "storage": False}]
    asker = Asker(sim.Cluster(crds=[definition]))
    asker.book("a")
    second = BOOKS.replace("/v1/", "/v2/")
    assert asker.ask("GET", f"{second}/a")["apiVersion"] == "example.io/v2"
    watch = asker.watch(second)
    asker.ask("PATCH", f"{second}/a", {"spec": {"title": "t"}}, MERGE)
    lines = [json.loads(line)["object"]["apiVersion"] for line in watch.take().splitlines()]
    assert lines == ["example.io/v2", "example.io/v2"]
    assert asker.ask("GET", f"{BOOKS}/a")["apiVersion"] == "example.io/v1"
    assert asker.ask("GET", f"{BOOKS}/a")["spec"]["title"] == "t"


def test_a_fork_is_independent_and_behaves_the_same(asker: Asker) -> None:
    asker.book("a")
    twin, same = Asker(asker.cluster.fork()), Asker(asker.cluster.fork())
    assert twin.book("b") == same.book("b")
    assert asker.cluster.get(Book, "b") is None
    old = twin.watch(f"{BOOKS}?resourceVersion={asker.cluster.version - 1}")
    assert told(old.take()) == [("ADDED", "a"), ("ADDED", "b")]


def test_clusters_of_the_same_seed_are_equal_and_of_different_seeds_are_not() -> None:
    first, second = (Asker(sim.Cluster(crds=[Book], seed=3)).book("a") for _ in range(2))
    assert first == second
    assert Asker(sim.Cluster(crds=[Book], seed=4)).book("a")["metadata"]["uid"] != first["metadata"]["uid"]


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


def test_waiting_for_a_condition_advances_the_time(asker: Asker) -> None:
    start = asker.cluster.now
    asker.cluster.later(7, lambda: asker.config("a"))
    config = asker.cluster.wait(lambda: asker.cluster.get("v1/ConfigMap", "a"))
    assert config is not None
    assert config["metadata"]["name"] == "a"
    assert asker.cluster.now - start == 7
    with pytest.raises(kp.DeadlineExceeded):
        asker.cluster.wait(lambda: asker.cluster.get("v1/ConfigMap", "b"), seconds=5)
    assert asker.cluster.now - start == 12


def test_the_log_contains_the_requests(asker: Asker) -> None:
    asker.send("GET", BOOKS)
    asker.cluster.advance(1)
    asker.send("GET", f"{BOOKS}/a")
    (first, second) = asker.cluster.log
    assert (first.status, second.status, second.time - first.time) == (200, 404, 1)
    assert str(second).endswith(f"GET {BOOKS}/a -> 404")


def test_pods_end_before_the_objects_that_they_use(asker: Asker) -> None:
    asker.pod("p", node="n1")
    asker.cluster.namespace("n")
    pod = asker.cluster.get("v1/Pod", "p")
    assert pod is not None
    asker.cluster.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"},
                       "spec": pod["spec"]})  # fmt: skip
    asker.cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}})
    asker.ask("DELETE", "/api/v1/namespaces/n")
    asker.cluster.advance(20)
    assert asker.cluster.get("v1/ConfigMap", "a", "n")
    asker.cluster.advance(20)
    assert asker.cluster.get("v1/Namespace", "n", "") is None
    assert asker.cluster.get("v1/ConfigMap", "a", "n") is None


def test_a_former_owner_that_goes_does_not_touch_the_object(asker: Asker) -> None:
    owner, other = asker.config("owner"), asker.config("other")
    asker.config("child", **owned_by(owner))
    changed = asker.ask("PATCH", f"{CONFIGMAPS}/child", {"metadata": owned_by(other)}, MERGE)
    asker.ask("DELETE", f"{CONFIGMAPS}/owner", {"propagationPolicy": "Foreground"})
    asker.cluster.advance(1)
    assert asker.cluster.get("v1/ConfigMap", "owner") is None
    assert asker.cluster.get("v1/ConfigMap", "child") == changed


def test_a_namespace_that_is_created_again_accepts_objects_while_its_controller_is_stopped(
    asker: Asker,
) -> None:
    asker.cluster.namespace("n")
    asker.cluster.controllers["namespace-controller"].stop()
    asker.ask("DELETE", "/api/v1/namespaces/n")
    body = {"metadata": {"name": "a"}}
    asker.refused("POST", "/api/v1/namespaces/n/configmaps", body)
    asker.cluster.remove("v1/Namespace", "n", "")
    asker.cluster.namespace("n")
    asker.create("/api/v1/namespaces/n/configmaps", body)


def test_a_controller_that_has_succeeded_forgets_its_failures() -> None:
    cluster = sim.Cluster(controllers=True)
    asker = Asker(cluster)
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    replica_sets = "/apis/apps/v1/namespaces/default/replicasets"
    asker.create(replica_sets, {"metadata": {"name": "web"}, "spec": spec})
    for replicas in range(1, 9):
        cluster.settle()
        cluster.controllers["replicaset-controller"].fail(1)
        asker.ask("PATCH", f"{replica_sets}/web", {"spec": {"replicas": replicas}}, MERGE)
        cluster.advance(0.1)
        assert len(cluster.objects("v1/Pod")) == replicas
