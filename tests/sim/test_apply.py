"""Server-side apply: the owners, the refusals and their messages."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from apply_cases import (
    CONFIG_MAP,
    FOO,
    LATER,
    NOW,
    POD,
    apply_successfully,
    config_map,
    conflicts_of,
    foo,
    owners,
    recorded,
    times,
    try_apply,
    write_object,
)

from kubeproto_sim.apply import SCHEMALESS, AppliedObject, ApplyRejection, apply

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


NO_ENTRY: dict[str, Any] = {}
UNTYPED = "failed to create typed patch object"
NOTHING: list[Any] = []
KEYS = "associative list with keys"
NO_KEYS = "associative list without keys"


def expected(kind: str, received: str) -> str:
    return f"expected {kind}, got &value.valueUnstructured{{Value:{received}}}"


# Responses of a real server.


def test_sv_20_an_apply_that_creates_leaves_the_entry_that_was_recorded() -> None:
    body, answer = recorded("apply-create-201")
    created = apply_successfully(None, body, "m1", now=answer["metadata"]["creationTimestamp"])
    assert created["metadata"]["managedFields"] == answer["metadata"]["managedFields"]
    assert created["data"] == answer["data"]


def test_sv_20_conflicts_have_the_recorded_messages() -> None:
    first, _ = recorded("apply-create-201")
    single, single_answer = recorded("apply-conflict-409")
    several, several_answer = recorded("apply-conflicts-409")
    live = apply_successfully(None, first, "m1")
    for conflicts, answer in (
        (conflicts_of(live, single, "m2"), single_answer),
        (
            conflicts_of(apply_successfully(live, config_map(a="1", b="1"), "m2"), several, "m3"),
            several_answer,
        ),
    ):
        assert conflicts.message == answer["message"]
        assert list(msgspec.to_builtins(conflicts.causes)) == answer["details"]["causes"]


def test_sv_20_a_conflict_over_the_status_names_the_subresource() -> None:
    body, answer = recorded("apply-status-conflict-409")
    mine = {**body, "status": {"note": "n1"}}
    live = apply_successfully(apply_successfully(None, foo(size=1)), mine, "ctl", subresource="status")
    conflicts = conflicts_of(live, body, "ctl2", subresource="status")
    assert conflicts.message == answer["message"]
    assert list(msgspec.to_builtins(conflicts.causes)) == answer["details"]["causes"]


def test_sv_20_a_conflict_with_an_ordinary_writer_names_its_version() -> None:
    live = write_object(None, config_map(a="1"), "wire")
    conflicts = conflicts_of(live, config_map(a="2"), "m1")
    assert conflicts.message == 'Apply failed with 1 conflict: conflict with "wire" using v1: .data.a'
    assert conflicts.causes[0].message == 'conflict with "wire" using v1'


# Owning.


def test_sv_20_force_takes_only_the_conflicting_fields() -> None:
    live = apply_successfully(None, config_map(a="1", b="1"), "m1")
    forced = apply_successfully(live, config_map(a="2"), "m2", force=True)
    assert forced["data"] == {"a": "2", "b": "1"}
    assert owners(forced) == {"m1": {"f:data": {"f:b": {}}}, "m2": {"f:data": {"f:a": {}}}}


def test_sv_20_a_manager_that_loses_every_field_by_force_loses_its_entry() -> None:
    live = apply_successfully(None, config_map(a="1"), "m1")
    assert owners(apply_successfully(live, config_map(a="2"), "m2", force=True)).keys() == {"m2"}


def test_sv_20_equal_values_are_shared_and_exist_while_any_owner_applies_them() -> None:
    live = apply_successfully(apply_successfully(None, config_map(a="1")), config_map(a="1"), "m2")
    assert owners(live) == {"m1": {"f:data": {"f:a": {}}}, "m2": {"f:data": {"f:a": {}}}}
    without_m1 = apply_successfully(live, config_map(), "m1")
    assert without_m1["data"] == {"a": "1"}
    assert apply_successfully(without_m1, config_map(), "m2").get("data", {}) == {}


def test_sv_20_fields_that_are_no_longer_applied_are_removed_unless_others_wrote_them() -> None:
    live = apply_successfully(None, config_map(a="1", b="1", c="1"))
    changed = write_object(live, {**live, "data": {**live["data"], "b": "2", "d": "2"}}, "other")
    reapplied = apply_successfully(changed, config_map(a="1"))
    assert reapplied["data"] == {"a": "1", "b": "2", "d": "2"}


def test_sv_20_a_field_without_an_owner_stays_when_its_neighbours_are_removed() -> None:
    live = apply_successfully(None, foo(color="red"))
    defaulted = {**live, "spec": {**live["spec"], "size": 3}}
    assert apply_successfully(defaulted, foo())["spec"] == {"size": 3}


def test_sv_20_a_struct_is_removed_with_its_last_field() -> None:
    body = {"apiVersion": "wire.test/v1", "kind": "Foo", "metadata": {"name": "f"}}
    assert "spec" not in apply_successfully(apply_successfully(None, foo(size=1)), body)


def test_sv_20_an_element_of_a_list_is_removed_with_its_owner() -> None:
    both = apply_successfully(
        None, foo(ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "b"}], tags=["x", "y"])
    )
    remaining = apply_successfully(both, foo(ports=[{"port": 2, "name": "b"}], tags=["y"]))
    assert remaining["spec"] == {"ports": [{"port": 2, "name": "b"}], "tags": ["y"]}


def test_sv_20_an_element_keeps_the_fields_that_another_manager_added() -> None:
    live = apply_successfully(None, foo(ports=[{"port": 1, "protocol": "TCP"}]), "m1")
    shared = apply_successfully(live, foo(ports=[{"port": 1, "protocol": "TCP", "name": "n"}]), "m2")
    remaining = apply_successfully(shared, foo(ports=[]), "m1")
    assert remaining["spec"]["ports"] == [{"port": 1, "protocol": "TCP", "name": "n"}]


def test_identity_and_fields_of_the_server_are_never_owned() -> None:
    metadata = {
        "name": "ap",
        "namespace": "w",
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": None,
        "labels": {"x": "1"},
        "generateName": "a-",
    }
    assert owners(apply_successfully(None, {**config_map(), "metadata": metadata})) == {
        "m1": {
            "f:data": {},
            "f:metadata": {"f:generateName": {}, "f:labels": {"f:x": {}}},
        }
    }


def test_an_apply_does_not_change_fields_of_the_server() -> None:
    live = apply_successfully(None, config_map(a="1"))
    server_fields = {"creationTimestamp": NOW, "uid": "u", "resourceVersion": "7", "generation": 2}
    live["metadata"] = {"name": "ap", **server_fields, "managedFields": live["metadata"]["managedFields"]}
    body = config_map(a="1")
    body["metadata"] |= {"creationTimestamp": None, "generation": 9}
    outcome = try_apply(live, body, now=LATER)
    assert isinstance(outcome, AppliedObject)
    assert not outcome.changed
    assert outcome.object == live


def test_a_body_that_owns_nothing_makes_no_entry() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ap"}}
    assert "managedFields" not in apply_successfully(None, body)["metadata"]


def test_an_atomic_value_has_one_owner() -> None:
    live = apply_successfully(None, foo(place={"x": 1, "y": 2}, words=["a", "b"]))
    assert owners(live) == {"m1": {"f:spec": {"f:place": {}, "f:words": {}}}}
    conflicts = conflicts_of(live, foo(place={"x": 1}, words=["b"]), "m2")
    assert [cause.field for cause in conflicts.causes] == [".spec.place", ".spec.words"]
    forced = apply_successfully(live, foo(place={"x": 5}), "m2", force=True)
    assert forced["spec"]["place"] == {"x": 5}


def test_without_a_schema_maps_are_granular_and_lists_are_atomic() -> None:
    live = apply_successfully(None, foo(deep={"a": {"b": 1}}, words=[{"name": "x"}]), schema=SCHEMALESS)
    inside: dict[str, Any] = {"f:deep": {"f:a": {"f:b": {}, ".": {}}, ".": {}}, "f:words": {}, ".": {}}
    assert owners(live) == {"m1": {"f:spec": inside}}


def test_a_container_is_owned_by_its_keys_and_as_itself() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    }
    [container] = owners(apply_successfully(None, pod, schema=POD))["m1"]["f:spec"]["f:containers"].items()
    assert container == (
        'k:{"name":"c"}',
        {
            ".": {},
            "f:image": {},
            "f:name": {},
            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
        },
    )


def test_lists_preserve_the_live_order_and_insert_new_elements_at_their_applied_position() -> None:
    live = apply_successfully(None, foo(tags=["a", "b", "c"]))
    assert apply_successfully(live, foo(tags=["x", "b", "y"]), "m2")["spec"]["tags"] == [
        "a",
        "x",
        "b",
        "c",
        "y",
    ]
    assert apply_successfully(live, foo(tags=["c", "a"]), "m2")["spec"]["tags"] == ["b", "c", "a"]


# Times.


def test_sv_20_applying_the_same_again_changes_nothing() -> None:
    live = apply_successfully(None, config_map(a="1"))
    outcome = try_apply(live, config_map(a="1"), now=LATER)
    assert isinstance(outcome, AppliedObject)
    assert not outcome.changed
    assert outcome.object == live


def test_an_apply_that_changes_only_owners_does_not_change_the_time() -> None:
    live = apply_successfully(apply_successfully(None, config_map(a="1")), config_map(a="1"), "m2", now=LATER)
    entries = {entry["manager"]: entry.get("time") for entry in live["metadata"]["managedFields"]}
    assert entries == {"m1": NOW, "m2": None}


def test_an_apply_that_changes_a_value_sets_the_time_of_unchanged_owners() -> None:
    live = apply_successfully(apply_successfully(None, config_map(a="1")), config_map(a="2"), now=LATER)
    assert times(live) == {"m1": LATER}


def test_an_apply_in_another_version_has_the_same_manager() -> None:
    live = apply_successfully(None, foo(size=1, color="red"))
    moved = apply_successfully(live, {**foo(size=2), "apiVersion": "wire.test/v2"})
    [entry] = moved["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsV1"]) == ("wire.test/v2", {"f:spec": {"f:size": {}}})
    assert moved["spec"] == {"size": 2}


# Objects from before their fields were tracked.


def test_sv_20_untracked_fields_belong_to_before_first_apply() -> None:
    untracked = {**config_map(a="1", b="1"), "metadata": {"name": "ap", "uid": "u"}}
    assert conflicts_of(untracked, config_map(a="2"), "m1").message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a'
    )
    live = apply_successfully(untracked, config_map(a="1"), "m1")
    assert owners(live) == {
        "m1": {"f:data": {"f:a": {}}},
        "before-first-apply": {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
    }


# Invalid bodies.


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"kind": None}, 400, "invalid object type: /v1, Kind="),
        ({"kind": None, "apiVersion": None}, 400, "invalid object type: /, Kind="),
        ({"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "v2"}, 400, "invalid object type: /v2, Kind=ConfigMap"),
        ({"metadata": {"managedFields": NOTHING}}, 400, "metadata.managedFields must be nil"),
        ({"metadata": {"managedFields": [NO_ENTRY]}}, 400, "metadata.managedFields must be nil"),
        (
            {"dta": {}, "metadata": {"name": "a", "namespace": "w"}},
            500,
            f"{UNTYPED} (w/a; /v1, Kind=ConfigMap): .dta: field not declared in schema",
        ),
        (
            {"data": {"a": 5}},
            500,
            "failed to create typed patch object (/ap; /v1, Kind=ConfigMap): .data.a: "
            + expected("string", "5"),
        ),
    ],
)
def test_a_body_that_cannot_be_applied_is_refused_as_a_server_does(
    change: dict[str, Any], code: int, message: str
) -> None:
    with pytest.raises(ApplyRejection) as caught:
        apply(
            None,
            {**config_map(a="1"), **change},
            manager="m",
            schema=CONFIG_MAP,
            api_version="v1",
            kind="ConfigMap",
            now=NOW,
        )
    assert (caught.value.code, caught.value.message) == (code, message)
    assert caught.value.reason == ("BadRequest" if code == 400 else "")


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"x": 1}, ".spec.x: field not declared in schema"),
        ({"x": 1, "y": 1}, ".spec.x: field not declared in schema"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
        (
            {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
            '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
        ),
        (
            {"ports": [{"port": 1, "nam": "a"}]},
            '.spec.ports[port=1,protocol="TCP"].nam: field not declared in schema',
        ),
        ({"size": "1"}, ".spec.size: expected numeric (int or float), got string"),
        ({"size": 1, "color": 1}, ".spec.color: " + expected("string", "1")),
        ({"size": True}, ".spec.size: expected numeric (int or float), got bool"),
        (
            {"color": 1, "tags": {}},
            f"errors:\n  .spec.color: {expected('string', '1')}\n  .spec.tags: expected list, got &{{map[]}}",
        ),
        ({"labels": []}, ".spec.labels: expected map, got &{[]}"),
        ({"ports": [1]}, f".spec.ports: element 0: {KEYS} may not have non-map elements"),
        ({"ports": [None]}, f".spec.ports: element 0: {KEYS} may not have a null element"),
        ({"tags": [None]}, f".spec.tags: element 0: {NO_KEYS} has an element that's an explicit null"),
        ({"tags": [["a"]]}, ".spec.tags: element 0: not supported: associative list with lists as elements"),
    ],
)
def test_a_field_that_does_not_fit_the_schema_is_named_by_its_path(spec: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ApplyRejection) as caught:
        try_apply(None, foo(**spec))
    prefix = f"{UNTYPED} (/f; wire.test/v1, Kind=Foo): "
    assert (caught.value.code, caught.value.message) == (500, prefix + wrong)


def test_fields_that_a_schema_leaves_open_are_stored_unchanged() -> None:
    spec = {"any": {"deep": [1, {"a": None}]}, "either": "5%", "labels": {"x": "1"}}
    assert apply_successfully(None, foo(**spec))["spec"] == spec
    assert apply_successfully(None, foo(either=5), schema=FOO)["spec"] == {"either": 5}


# kubectl.


def test_kubectl_refreshes_an_existing_annotation() -> None:
    live = apply_successfully(None, config_map(a="1"), "kubectl")
    assert "annotations" not in live["metadata"]
    live["metadata"]["annotations"] = {LAST_APPLIED: "{}"}
    reapplied = apply_successfully(live, config_map(a="2"), "kubectl")
    assert reapplied["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"ap"}}\n'
    )
    assert apply_successfully(live, config_map(a="1"), "other")["metadata"]["annotations"] == {
        LAST_APPLIED: "{}"
    }


def test_kubectl_takes_over_the_fields_of_its_client_side_apply() -> None:
    last = msgspec.json.encode(config_map(a="1")).decode()
    live = config_map(a="1", b="1")
    live["metadata"]["annotations"] = {LAST_APPLIED: last}
    live = write_object(None, live, "kubectl-client-side-apply")
    assert apply_successfully(live, config_map(a="2"), "kubectl")["data"] == {"a": "2", "b": "1"}
    assert conflicts_of(live, config_map(a="2", b="2"), "kubectl").message.endswith(": .data.b")
    assert conflicts_of(live, config_map(a="2"), "other").message.endswith(": .data.a")


def test_fields_that_kubectl_applied_in_another_version_are_not_its_own() -> None:
    last = msgspec.json.encode({**config_map(a="1"), "apiVersion": "v0"}).decode()
    live = config_map(a="1")
    live["metadata"]["annotations"] = {LAST_APPLIED: last}
    assert conflicts_of(write_object(None, live), config_map(a="2"), "kubectl").message.endswith(": .data.a")
