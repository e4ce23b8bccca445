"""Server-side apply: the owners, their conflicts, and the removal of fields without owners."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import APPLY, Client
from conformance.kinds import foo, foos


def owned(obj: Any) -> dict[tuple[str, str], Any]:
    """Return the managed fields of an object: manager and operation, and their fields."""
    entries = obj["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def config(data: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **meta}, "data": data}


def test_sv_20_apply_creates_an_object_and_owns_its_fields(client: Client) -> None:
    answer = client.send("PATCH", f"{client.configmaps}/a?fieldManager=m1", config({"x": "1"}), APPLY)
    assert answer.status == 201
    assert owned(answer.json) == {("m1", "Apply"): {"f:data": {"f:x": {}}}}


def test_sv_20_another_value_is_a_conflict_that_names_the_field_and_its_owner(client: Client) -> None:
    target = f"{client.configmaps}/a"
    client.apply(target, config({"x": "1"}), "m1")
    status = client.expect_refusal("PATCH", f"{target}?fieldManager=m2", config({"x": "2"}), APPLY)
    assert (status["code"], status["reason"]) == (409, "Conflict")
    assert status["message"] == 'Apply failed with 1 conflict: conflict with "m1": .data.x'
    assert status["details"] == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".data.x"}]
    }


def test_sv_20_force_takes_the_field(client: Client) -> None:
    target = f"{client.configmaps}/a"
    client.apply(target, config({"x": "1", "y": "1"}), "m1")
    applied = client.apply(target, config({"x": "2"}), "m2", force=True)
    assert applied["data"] == {"x": "2", "y": "1"}
    assert owned(applied) == {
        ("m1", "Apply"): {"f:data": {"f:y": {}}},
        ("m2", "Apply"): {"f:data": {"f:x": {}}},
    }


def test_sv_20_an_equal_value_is_shared_and_stays_while_any_manager_applies_it(client: Client) -> None:
    target = f"{client.configmaps}/a"
    client.apply(target, config({"x": "1"}), "m1")
    client.apply(target, config({"x": "1"}), "m2")
    assert client.apply(target, config({}), "m1")["data"] == {"x": "1"}
    assert not client.apply(target, config({}), "m2").get("data")


def test_sv_20_applying_the_same_again_is_not_a_write(client: Client) -> None:
    target = f"{client.configmaps}/a"
    first = client.apply(target, config({"x": "1"}), "m1")
    assert client.apply(target, config({"x": "1"}), "m1") == first


def test_an_update_takes_fields_without_a_conflict(client: Client) -> None:
    target = f"{client.configmaps}/a"
    client.apply(target, config({"x": "1"}), "m1")
    changed = client.merge(f"{target}?fieldManager=hand", {"data": {"x": "2"}})
    assert owned(changed) == {("hand", "Update"): {"f:data": {"f:x": {}}}}
    status = client.expect_refusal("PATCH", f"{target}?fieldManager=m1", config({"x": "1"}), APPLY)
    assert status["details"]["causes"][0]["message"] == 'conflict with "hand" using v1'


def test_sv_20_untracked_fields_belong_to_before_first_apply(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    client.create(foos(client.namespace), foo("a", size=4))
    client.merge(f"{target}/status", {"status": {"note": "n"}})
    client.merge(target, {"metadata": {"managedFields": [{}]}})
    applied = client.apply(target, foo("a", size=5), "m1", force=True)
    assert owned(applied) == {
        ("m1", "Apply"): {"f:spec": {"f:color": {}, "f:size": {}}},
        ("before-first-apply", "Update"): {"f:spec": {".": {}, "f:color": {}}},
    }


def test_elements_of_a_list_map_have_their_own_owners(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    client.apply(target, foo("a", ports=[{"name": "p", "port": 1}], tags=["s"]), "m1")
    both = client.apply(target, foo("a", ports=[{"name": "q"}], tags=["t"]), "m2")
    assert both["spec"]["ports"] == [{"name": "p", "port": 1}, {"name": "q", "port": 80}]
    assert both["spec"]["tags"] == ["s", "t"]
    applied = client.apply(target, foo("a"), "m1")
    assert (applied["spec"]["ports"], applied["spec"]["tags"]) == ([{"name": "q", "port": 80}], ["t"])


def test_a_status_is_applied_at_its_own_endpoint(client: Client) -> None:
    target = f"{foos(client.namespace)}/a"
    client.create(foos(client.namespace), foo("a"))
    status = {
        "apiVersion": "suite.test/v1",
        "kind": "Foo",
        "metadata": {"name": "a"},
        "status": {"note": "n"},
    }
    applied = client.apply(f"{target}/status", status, "ctl")
    assert (applied["status"], applied["spec"]["color"]) == ({"note": "n"}, "red")
    assert owned(applied)["ctl", "Apply"] == {"f:status": {"f:note": {}}}
    refused = client.expect_refusal(
        "PATCH", f"{target}/status?fieldManager=other", status | {"status": {"note": "m"}}, APPLY
    )
    assert refused["details"]["causes"][0]["message"] == 'conflict with "ctl" with subresource "status"'
    missing = client.expect_refusal(
        "PATCH",
        f"{foos(client.namespace)}/zz/status?fieldManager=m",
        status | {"metadata": {"name": "zz"}},
        APPLY,
    )
    assert missing["code"] == 404


def test_applying_existing_values_adds_an_entry_without_a_time(client: Client) -> None:
    target = f"{client.configmaps}/a"
    client.apply(target, config({"x": "1"}), "m1")
    shared = client.apply(target, config({"x": "1"}), "m2")
    assert ["time" in entry for entry in shared["metadata"]["managedFields"]] == [False, True]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            config({"x": 1}),
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.x: expected",
        ),
        (
            config({}) | {"nope": 1},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope:",
        ),
        (config({}, managedFields=[]), 400, "metadata.managedFields must be nil"),
        (config({}) | {"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        (config({}, name="b"), 400, "the name of the object (b) does not match the name on the URL (a)"),
        (config({}, namespace="b"), 400, "the namespace of the provided object does not match"),
        (config({}, uid="00000000-0000-0000-0000-000000000001"), 409, "Operation cannot be fulfilled"),
    ],
)
def test_a_body_that_cannot_be_applied_is_refused(client: Client, body: Any, code: int, message: str) -> None:
    status = client.expect_refusal("PATCH", f"{client.configmaps}/a?fieldManager=m", body, APPLY)
    assert (status["code"], status["message"][: len(message)]) == (code, message)


def test_apply_needs_a_manager_and_force_needs_apply(client: Client) -> None:
    client.config("a")
    status = client.expect_refusal("PATCH", f"{client.configmaps}/a", config({}), APPLY)
    assert (status["code"], status["details"]["causes"][0]["field"]) == (422, "fieldManager")
    status = client.expect_refusal(
        "PATCH", f"{client.configmaps}/a?force=true", {}, "application/merge-patch+json"
    )
    assert (status["code"], status["details"]["causes"][0]["field"]) == (422, "force")
