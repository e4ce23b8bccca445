"""Deletions: finalizers, preconditions, propagation, grace periods, and the content of a namespace."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client, causes, version_of
from conformance.kinds import foo, foos


def test_an_immediate_deletion_returns_a_status_that_identifies_the_object(client: Client) -> None:
    created = client.create(foos(client.namespace), foo("a"))
    deleted = client.fetch("DELETE", f"{foos(client.namespace)}/a")
    assert deleted == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": "a", "group": "suite.test", "kind": "foos", "uid": created["metadata"]["uid"]},
    }  # fmt: skip


def test_sv_13_a_finalizer_keeps_an_object_until_it_is_removed(client: Client) -> None:
    body = foo("a")
    body["metadata"]["finalizers"] = ["a.b/c"]
    target = f"{foos(client.namespace)}/a"
    since = version_of(client.create(foos(client.namespace), body))
    deleted = client.fetch("DELETE", target)
    assert deleted["metadata"]["deletionTimestamp"]
    assert (deleted["metadata"]["deletionGracePeriodSeconds"], deleted["metadata"]["generation"]) == (0, 2)
    assert client.fetch("DELETE", target) == deleted
    last = client.merge(target, {"metadata": {"finalizers": None}})
    assert version_of(last) == version_of(deleted)
    assert client.send("GET", target).status == 404
    with client.watch(f"{foos(client.namespace)}?resourceVersion={since}") as stream:
        events = stream.take(2)
    assert [change for change, _ in events] == ["MODIFIED", "DELETED"]
    assert int(version_of(events[1][1])) > int(version_of(last))


def test_sv_14_an_object_that_is_being_deleted_accepts_no_new_finalizer(client: Client) -> None:
    client.config("a", finalizers=["a.b/c"])
    client.fetch("DELETE", f"{client.configmaps}/a")
    change = {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}}
    status = client.expect_refusal("PATCH", f"{client.configmaps}/a", change, "application/merge-patch+json")
    assert (status["code"], causes(status)[0]) == (422, ("metadata.finalizers", "FieldValueForbidden"))


def test_sv_16_the_name_of_an_object_that_is_being_deleted_is_in_use(client: Client) -> None:
    client.config("a", finalizers=["a.b/c"])
    client.fetch("DELETE", f"{client.configmaps}/a")
    status = client.expect_refusal("POST", client.configmaps, {"metadata": {"name": "a"}})
    assert (status["code"], status["reason"]) == (409, "AlreadyExists")
    assert status["message"] == 'object is being deleted: configmaps "a" already exists'


@pytest.mark.parametrize(
    ("preconditions", "reason"),
    [
        ({"uid": "00000000-0000-0000-0000-000000000001"}, "the UID in the precondition"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match"),
    ],
)
def test_sv_15_a_precondition_that_does_not_hold_is_a_conflict(
    client: Client, preconditions: dict[str, str], reason: str
) -> None:
    created = client.config("a")
    status = client.expect_refusal("DELETE", f"{client.configmaps}/a", {"preconditions": preconditions})
    assert (status["code"], status["reason"], status["details"]["kind"]) == (409, "Conflict", "ConfigMap")
    assert reason in status["message"]
    good = {"uid": created["metadata"]["uid"], "resourceVersion": version_of(created)}
    client.fetch("DELETE", f"{client.configmaps}/a", {"preconditions": good})


def owned(client: Client, owner: Any, *, blocks: bool) -> Any:
    reference = {
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
    }  # fmt: skip
    return client.config("child", ownerReferences=[reference])


def test_in_the_background_the_owner_is_deleted_before_its_dependents(client: Client) -> None:
    owned(client, client.config("owner"), blocks=True)
    client.fetch("DELETE", f"{client.configmaps}/owner?propagationPolicy=Background")
    assert client.send("GET", f"{client.configmaps}/owner").status == 404
    client.wait_until_deleted(client.configmaps, "child")


def test_in_the_foreground_the_owner_waits_for_its_dependents(client: Client) -> None:
    owned(client, client.config("owner"), blocks=True)
    since = version_of(client.get(client.configmaps))
    deleted = client.fetch("DELETE", f"{client.configmaps}/owner?propagationPolicy=Foreground")
    assert deleted["metadata"]["finalizers"] == ["foregroundDeletion"]
    with client.watch(f"{client.configmaps}?resourceVersion={since}") as stream:
        deleted_names: list[str] = []
        while len(deleted_names) < 2:
            [(change, obj)] = stream.take(1)
            deleted_names += [obj["metadata"]["name"]] if change == "DELETED" else []
    assert deleted_names == ["child", "owner"]


def test_an_orphan_stays_without_an_owner(client: Client) -> None:
    owned(client, client.config("owner"), blocks=False)
    deleted = client.fetch("DELETE", f"{client.configmaps}/owner", {"propagationPolicy": "Orphan"})
    assert deleted["metadata"]["finalizers"] == ["orphan"]
    client.wait_until_deleted(client.configmaps, "owner")
    assert "ownerReferences" not in client.get(f"{client.configmaps}/child")["metadata"]


def test_an_unknown_policy_is_invalid(client: Client) -> None:
    client.config("a")
    status = client.expect_refusal("DELETE", f"{client.configmaps}/a?propagationPolicy=Gently")
    assert (status["code"], status["details"]["kind"]) == (422, "DeleteOptions")


def test_a_pod_without_a_node_is_deleted_immediately_and_returned(client: Client) -> None:
    client.pod("a")
    deleted = client.fetch("DELETE", f"{client.home}/pods/a")
    assert (deleted["kind"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert client.send("GET", f"{client.home}/pods/a").status == 404


def test_sv_15_a_grace_period_can_only_be_shortened(client: Client) -> None:
    client.pod("a")
    target = f"{client.home}/pods/a"
    bound = client.send(
        "POST", f"{target}/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    )
    assert bound.status == 201
    assert client.fetch("DELETE", target)["metadata"]["deletionGracePeriodSeconds"] == 30
    assert (
        client.fetch("DELETE", f"{target}?gracePeriodSeconds=90")["metadata"]["deletionGracePeriodSeconds"]
        == 30
    )
    assert (
        client.fetch("DELETE", f"{target}?gracePeriodSeconds=10")["metadata"]["deletionGracePeriodSeconds"]
        == 10
    )
    client.fetch("DELETE", f"{target}?gracePeriodSeconds=0")
    client.wait_until_deleted(f"{client.home}/pods", "a")


def test_sv_29_a_deleted_namespace_deletes_its_objects_and_accepts_no_new_ones(client: Client) -> None:
    home = f"/api/v1/namespaces/{client.namespace}"
    client.config("stays", finalizers=["a.b/c"])
    deleted = client.fetch("DELETE", home)
    assert (deleted["kind"], deleted["status"]["phase"]) == ("Namespace", "Terminating")
    status = client.expect_refusal("POST", client.configmaps, {"metadata": {"name": "new"}})
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert causes(status) == [("metadata.namespace", "NamespaceTerminating")]
    client.wait_for(client.configmaps, "stays", lambda obj: obj["metadata"].get("deletionTimestamp"))
    client.merge(f"{client.configmaps}/stays", {"metadata": {"finalizers": None}})
    client.wait_until_deleted("/api/v1/namespaces", client.namespace)
    # Admission uses its own knowledge of the namespace: for a moment, that it is being deleted.
    client.poll_until(
        lambda: client.expect_refusal("POST", client.configmaps, {"metadata": {"name": "new"}})["code"] == 404
    )


def test_some_namespaces_cannot_be_deleted(client: Client) -> None:
    status = client.expect_refusal("DELETE", "/api/v1/namespaces/default")
    assert (status["code"], status["reason"]) == (403, "Forbidden")
