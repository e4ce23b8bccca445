"""How things go: finalizers, preconditions, propagation, grace, and what a namespace takes with it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client, causes, version_of
from conformance.kinds import foo, foos


def test_what_goes_at_once_is_answered_by_a_status_that_says_what_it_was(client: Client) -> None:
    made = client.create(foos(client.namespace), foo("a"))
    gone = client.ask("DELETE", f"{foos(client.namespace)}/a")
    assert gone == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": "a", "group": "suite.test", "kind": "foos", "uid": made["metadata"]["uid"]},
    }  # fmt: skip


def test_sv_13_a_finalizer_keeps_an_object_until_it_is_taken_away(client: Client) -> None:
    body = foo("a")
    body["metadata"]["finalizers"] = ["a.b/c"]
    target = f"{foos(client.namespace)}/a"
    since = version_of(client.create(foos(client.namespace), body))
    deleted = client.ask("DELETE", target)
    assert deleted["metadata"]["deletionTimestamp"]
    assert (deleted["metadata"]["deletionGracePeriodSeconds"], deleted["metadata"]["generation"]) == (0, 2)
    assert client.ask("DELETE", target) == deleted
    last = client.merge(target, {"metadata": {"finalizers": None}})
    assert version_of(last) == version_of(deleted)
    assert client.send("GET", target).status == 404
    with client.watch(f"{foos(client.namespace)}?resourceVersion={since}") as stream:
        events = stream.take(2)
    assert [change for change, _ in events] == ["MODIFIED", "DELETED"]
    assert int(version_of(events[1][1])) > int(version_of(last))


def test_sv_14_what_is_being_deleted_takes_no_new_finalizer(client: Client) -> None:
    client.config("a", finalizers=["a.b/c"])
    client.ask("DELETE", f"{client.configmaps}/a")
    change = {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}}
    status = client.refused("PATCH", f"{client.configmaps}/a", change, "application/merge-patch+json")
    assert (status["code"], causes(status)[0]) == (422, ("metadata.finalizers", "FieldValueForbidden"))


def test_sv_16_the_name_of_what_is_being_deleted_is_taken(client: Client) -> None:
    client.config("a", finalizers=["a.b/c"])
    client.ask("DELETE", f"{client.configmaps}/a")
    status = client.refused("POST", client.configmaps, {"metadata": {"name": "a"}})
    assert (status["code"], status["reason"]) == (409, "AlreadyExists")
    assert status["message"] == 'object is being deleted: configmaps "a" already exists'


@pytest.mark.parametrize(
    ("preconditions", "why"),
    [
        ({"uid": "00000000-0000-0000-0000-000000000001"}, "the UID in the precondition"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not match"),
    ],
)
def test_sv_15_a_precondition_that_does_not_hold_is_a_conflict(
    client: Client, preconditions: dict[str, str], why: str
) -> None:
    made = client.config("a")
    status = client.refused("DELETE", f"{client.configmaps}/a", {"preconditions": preconditions})
    assert (status["code"], status["reason"], status["details"]["kind"]) == (409, "Conflict", "ConfigMap")
    assert why in status["message"]
    good = {"uid": made["metadata"]["uid"], "resourceVersion": version_of(made)}
    client.ask("DELETE", f"{client.configmaps}/a", {"preconditions": good})


def owned(client: Client, owner: Any, *, blocks: bool) -> Any:
    reference = {
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
    }  # fmt: skip
    return client.config("child", ownerReferences=[reference])


def test_in_the_background_the_owner_goes_first_and_what_it_owns_follows(client: Client) -> None:
    owned(client, client.config("owner"), blocks=True)
    client.ask("DELETE", f"{client.configmaps}/owner?propagationPolicy=Background")
    assert client.send("GET", f"{client.configmaps}/owner").status == 404
    client.gone(client.configmaps, "child")


def test_in_the_foreground_the_owner_waits_for_what_it_owns(client: Client) -> None:
    owned(client, client.config("owner"), blocks=True)
    since = version_of(client.get(client.configmaps))
    deleted = client.ask("DELETE", f"{client.configmaps}/owner?propagationPolicy=Foreground")
    assert deleted["metadata"]["finalizers"] == ["foregroundDeletion"]
    with client.watch(f"{client.configmaps}?resourceVersion={since}") as stream:
        gone: list[str] = []
        while len(gone) < 2:
            [(change, obj)] = stream.take(1)
            gone += [obj["metadata"]["name"]] if change == "DELETED" else []
    assert gone == ["child", "owner"]


def test_an_orphan_stays_and_has_no_owner_any_more(client: Client) -> None:
    owned(client, client.config("owner"), blocks=False)
    deleted = client.ask("DELETE", f"{client.configmaps}/owner", {"propagationPolicy": "Orphan"})
    assert deleted["metadata"]["finalizers"] == ["orphan"]
    client.gone(client.configmaps, "owner")
    assert "ownerReferences" not in client.get(f"{client.configmaps}/child")["metadata"]


def test_a_policy_that_does_not_exist_is_invalid(client: Client) -> None:
    client.config("a")
    status = client.refused("DELETE", f"{client.configmaps}/a?propagationPolicy=Gently")
    assert (status["code"], status["details"]["kind"]) == (422, "DeleteOptions")


def test_a_pod_that_no_node_has_taken_goes_at_once_and_is_the_response(client: Client) -> None:
    client.pod("a")
    gone = client.ask("DELETE", f"{client.home}/pods/a")
    assert (gone["kind"], gone["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert client.send("GET", f"{client.home}/pods/a").status == 404


def test_sv_15_grace_is_shortened_and_never_made_longer(client: Client) -> None:
    client.pod("a")
    target = f"{client.home}/pods/a"
    bound = client.send(
        "POST", f"{target}/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    )
    assert bound.status == 201
    assert client.ask("DELETE", target)["metadata"]["deletionGracePeriodSeconds"] == 30
    assert (
        client.ask("DELETE", f"{target}?gracePeriodSeconds=90")["metadata"]["deletionGracePeriodSeconds"]
        == 30
    )
    assert (
        client.ask("DELETE", f"{target}?gracePeriodSeconds=10")["metadata"]["deletionGracePeriodSeconds"]
        == 10
    )
    client.ask("DELETE", f"{target}?gracePeriodSeconds=0")
    client.gone(f"{client.home}/pods", "a")


def test_sv_29_a_namespace_takes_what_it_holds_along_and_nothing_new(client: Client) -> None:
    home = f"/api/v1/namespaces/{client.namespace}"
    client.config("stays", finalizers=["a.b/c"])
    gone = client.ask("DELETE", home)
    assert (gone["kind"], gone["status"]["phase"]) == ("Namespace", "Terminating")
    status = client.refused("POST", client.configmaps, {"metadata": {"name": "new"}})
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert causes(status) == [("metadata.namespace", "NamespaceTerminating")]
    client.until(client.configmaps, "stays", lambda obj: obj["metadata"].get("deletionTimestamp"))
    client.merge(f"{client.configmaps}/stays", {"metadata": {"finalizers": None}})
    client.gone("/api/v1/namespaces", client.namespace)
    # Admission goes by what it knows of the namespace: for a moment, that it is being deleted.
    client.eventually(
        lambda: client.refused("POST", client.configmaps, {"metadata": {"name": "new"}})["code"] == 404
    )


def test_some_namespaces_cannot_be_deleted(client: Client) -> None:
    status = client.refused("DELETE", "/api/v1/namespaces/default")
    assert (status["code"], status["reason"]) == (403, "Forbidden")
