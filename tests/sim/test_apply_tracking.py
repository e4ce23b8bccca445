"""Managed fields of ordinary writes: the writers, their fields and times."""

from __future__ import annotations

from typing import Any

import pytest
from apply_cases import (
    CONFIG_MAP,
    DEPLOYMENT,
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
    write_object,
)

from kubeproto.objects import GroupVersionKind
from kubeproto_sim.apply import decode_managers, encode_managers, merge_schema_of_kind
from kubeproto_sim.apply._field_managers import limit_updaters
from kubeproto_sim.apply.fieldsets import paths


def writer_object(name: str, *without: str) -> dict[str, Any]:
    """Return the object of a recorded write without the fields that the server added."""
    _, answer = recorded(name)
    fields = {key: value for key, value in answer.items() if key not in without}
    metadata = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    return {**fields, "metadata": metadata}


def entries_of(name: str) -> Any:
    return recorded(name)[1]["metadata"]["managedFields"]


@pytest.mark.parametrize(
    "name", ["create-configmap-201", "create-generate-name-201", "create-unknown-field-warnings-201"]
)
def test_a_created_object_has_the_entry_that_was_recorded(name: str) -> None:
    [entry] = entries_of(name)
    created = write_object(None, writer_object(name), entry["manager"], now=entry["time"])
    assert created["metadata"]["managedFields"] == [entry]


def test_a_created_custom_resource_has_the_entry_that_was_recorded() -> None:
    [entry] = entries_of("cr-create-201")
    created = write_object(None, writer_object("cr-create-201"), entry["manager"], now=entry["time"])
    assert created["metadata"]["managedFields"] == [entry]


def test_a_created_definition_owns_all_fields_except_those_of_its_typed_form() -> None:
    schema = merge_schema_of_kind(GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    [entry] = entries_of("crd-create-201")
    created = writer_object("crd-create-201", "status")
    assert owners(write_object(None, created, "wire", schema=schema)) == {"wire": entry["fieldsV1"]}


def test_a_created_pod_owns_its_containers_by_name() -> None:
    [entry] = entries_of("delete-pod-graceful-200")
    pod = writer_object("delete-pod-graceful-200", "status")
    for later in ("nodeName", "tolerations", "priority", "preemptionPolicy"):  # bound, and set on admission
        del pod["spec"][later]
    for later in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        del pod["metadata"][later]
    assert owners(write_object(None, pod, "wire", schema=POD)) == {"wire": entry["fieldsV1"]}


def test_a_created_namespace_owns_its_label() -> None:
    schema = merge_schema_of_kind(GroupVersionKind("", "v1", "Namespace"))
    [entry] = entries_of("delete-namespace-200")
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "t1", "labels": {"kubernetes.io/metadata.name": "t1"}},
    }
    created = write_object(None, namespace, "wire", schema=schema, now=entry["time"])
    assert created["metadata"]["managedFields"] == [entry]


def test_sv_12_the_status_has_its_own_entry() -> None:
    _, answer = recorded("status-subresource-patch-200")
    expected = answer["metadata"]["managedFields"]
    metadata = {"name": "u2", "labels": {"x": "1"}}
    previous = {**foo(color="red", size=5), "metadata": metadata}
    created = write_object(None, previous, "wire", now=expected[0]["time"])
    with_status = {**created, "status": {"note": "q"}}
    patched = write_object(created, with_status, "wire", now=expected[1]["time"], subresource="status")
    assert patched["metadata"]["managedFields"] == expected


def test_a_struct_that_always_exists_is_not_owned_and_a_pointer_is() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"nodeSelector": {"a": "b"}}},
        },
    }
    assert owners(write_object(None, deployment, "wire", schema=DEPLOYMENT)) == {
        "wire": {
            "f:spec": {
                "f:selector": {},
                "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
                "f:template": {
                    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                    "f:spec": {"f:nodeSelector": {}},
                },
            }
        }
    }


# Updates.


def test_a_change_takes_the_field_from_all_others_including_appliers() -> None:
    live = apply_successfully(None, config_map(a="1", b="1"), "m1")
    changed = write_object(live, {**live, "data": {"a": "2", "b": "1"}}, "wire", now=LATER)
    assert owners(changed) == {"m1": {"f:data": {"f:b": {}}}, "wire": {"f:data": {"f:a": {}}}}
    assert times(changed) == {"m1": NOW, "wire": LATER}


def test_a_writer_keeps_its_fields_and_takes_the_changed_fields() -> None:
    live = write_object(None, config_map(a="1"))
    more = write_object(live, {**live, "data": {"a": "1", "b": "1"}}, now=LATER)
    assert owners(more) == {"wire": {"f:data": {".": {}, "f:a": {}, "f:b": {}}}}
    assert times(more) == {"wire": LATER}


def test_a_write_that_changes_nothing_preserves_the_managed_fields() -> None:
    live = write_object(None, config_map(a="1"))
    assert write_object(live, live, "other", now=LATER) == live
    reordered = {**live, "data": dict(reversed(list(live["data"].items())))}
    assert write_object(live, reordered, now=LATER)["metadata"] == live["metadata"]


def test_a_write_that_only_removes_fields_adds_no_entry_and_preserves_the_time() -> None:
    live = write_object(None, config_map(a="1", b="1"))
    less = write_object(live, {**live, "data": {"a": "1"}}, "other", now=LATER)
    assert owners(less) == {"wire": {"f:data": {".": {}, "f:a": {}}}}
    assert times(less) == {"wire": NOW}


def test_a_writer_in_another_version_has_another_entry() -> None:
    live = write_object(None, foo(size=1))
    both = write_object(live, {**live, "spec": {"size": 1, "color": "red"}}, api_version="wire.test/v2")
    assert [entry["apiVersion"] for entry in both["metadata"]["managedFields"]] == [
        "wire.test/v1",
        "wire.test/v2",
    ]


@pytest.mark.parametrize(
    ("previous_spec", "spec", "fields"),
    [
        ({"tags": ["a"]}, {"tags": ["b", "a"]}, {"f:tags": {'v:"b"': {}}}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, None),
        ({"words": ["a", "b"]}, {"words": ["b", "a"]}, {"f:words": {}}),
        ({"place": {"x": 1, "y": 1}}, {"place": {"x": 2, "y": 1}}, {"f:place": {}}),
        (
            {"ports": [{"port": 1, "name": "a"}]},
            {"ports": [{"port": 2}, {"port": 1, "name": "b"}]},
            {
                "f:ports": {
                    'k:{"port":1,"protocol":"TCP"}': {"f:name": {}},
                    'k:{"port":2,"protocol":"TCP"}': {".": {}, "f:port": {}},
                }
            },
        ),
        ({"labels": {}}, {"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}),
        ({"labels": {"a": "1"}}, {"labels": {"a": "1", "b": "2"}}, {"f:labels": {"f:b": {}}}),
        ({}, {"labels": {}}, {"f:labels": {}}),
        ({"any": {"x": 1}}, {"any": {"x": True}}, {"f:any": {"f:x": {}}}),
        ({"any": {"x": {"y": 1}}}, {"any": {"x": "s"}}, {"f:any": {"f:x": {}}}),
        ({"any": {"x": "s"}}, {"any": {"x": {"y": 1}}}, {"f:any": {"f:x": {".": {}, "f:y": {}}}}),
        ({"size": 1}, {"size": None}, {"f:size": {}}),
    ],
)
def test_the_schema_determines_the_owned_fields_of_a_change(
    previous_spec: dict[str, Any], spec: dict[str, Any], fields: dict[str, Any] | None
) -> None:
    live = write_object(None, foo(**previous_spec), "first")
    owned_fields = owners(write_object(live, {**live, "spec": spec}, "second", schema=FOO)).get("second")
    assert owned_fields == (None if fields is None else {"f:spec": fields})


# Managers in the body of a write.


@pytest.mark.parametrize("reset", [[], [{}]])
def test_sv_20_a_reset_ends_the_tracking_until_an_apply(reset: list[Any]) -> None:
    live = write_object(None, config_map(a="1"))
    cleared = write_object(live, {**live, "metadata": {"name": "ap", "managedFields": reset}}, "other")
    assert "managedFields" not in cleared["metadata"]
    again = write_object(cleared, {**cleared, "data": {"a": "2"}}, "wire")
    assert "managedFields" not in again["metadata"]
    assert "before-first-apply" in conflicts_of(again, config_map(a="3"), "m1").message


def test_omitted_managers_are_preserved_and_those_of_a_subresource_write_are_ignored() -> None:
    live = write_object(None, config_map(a="1"))
    assert owners(write_object(live, config_map(a="1"), "other")) == owners(live)
    nobody: list[Any] = []
    cleared = {**live, "metadata": {"name": "ap", "managedFields": nobody}}
    assert owners(write_object(live, cleared, "other", subresource="status")) == owners(live)


def test_sent_managers_replace_the_stored_ones_unless_they_are_invalid() -> None:
    live = write_object(None, config_map(a="1"))
    entry = {**live["metadata"]["managedFields"][0], "manager": "renamed"}
    renamed = {**live, "metadata": {"name": "ap", "managedFields": [entry]}}
    assert owners(write_object(live, renamed, "other")).keys() == {"renamed"}
    not_one: list[Any] = [
        {**entry, "operation": "Guess"},
        {**entry, "fieldsType": "FieldsV2"},
        {**entry, "fieldsV1": {"f:a": 5}},
        {**entry, "fieldsV1": {"data": {}}},
        {**entry, "manager": 5},
        {"manager": "x", "operation": "Update", "fieldsType": "FieldsV1"},
        "no entry",
    ]
    for wrong in not_one:
        broken: dict[str, Any] = {**live, "metadata": {"name": "ap", "managedFields": [wrong]}}
        assert owners(write_object(live, broken, "other")) == owners(live)


# Many managers.


def test_of_more_than_ten_updaters_the_oldest_are_combined() -> None:
    live = write_object(None, config_map(k0="0"), "w0", now="2026-11-21T01:00:00Z")
    for number in range(1, 13):
        data = {**live["data"], f"k{number}": "1"}
        live = write_object(live, {**live, "data": data}, f"w{number}", now=f"2026-11-21T01:{number:02}:00Z")
    field_owners = owners(live)
    assert list(field_owners) == ["ancient-changes", *(f"w{number}" for number in range(4, 13))]
    assert field_owners["ancient-changes"] == {
        "f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}
    }
    assert times(live)["ancient-changes"] == "2026-11-21T01:03:00Z"


def test_an_existing_combined_entry_absorbs_older_entries_without_loss() -> None:
    def entry(manager: str, minute: int) -> dict[str, Any]:
        return {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": f"2026-11-21T01:{minute:02}:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:{manager}": {}}},
        }

    managed_fields = [*(entry(f"w{number}", number) for number in range(11)), entry("ancient-changes", 30)]
    managers = limit_updaters(decode_managers(managed_fields))
    everything = {path for manager_fields in managers.values() for path in paths(manager_fields.fields)}
    assert everything == {("f:data", f"f:{each['manager']}") for each in managed_fields}
    assert len(managers) <= 10


def test_appliers_are_not_counted_and_each_version_has_its_own_combined_entry() -> None:
    live = apply_successfully(None, foo(labels={"a": "1"}), "applier")
    for number in range(12):
        labels = {**live["spec"]["labels"], f"l{number}": "1"}
        version = f"wire.test/v{number % 2 + 1}"
        now = f"2026-11-21T01:{number:02}:00Z"
        live = write_object(
            live, {**live, "spec": {"labels": labels}}, f"w{number}", now=now, api_version=version
        )
    entries = live["metadata"]["managedFields"]
    assert entries[0]["manager"] == "applier"
    heaps = [entry for entry in entries if entry["manager"] == "ancient-changes"]
    assert sorted(entry["apiVersion"] for entry in heaps) == ["wire.test/v1", "wire.test/v2"]
    assert len([entry for entry in entries if entry["operation"] == "Update"]) == 10


def test_entries_are_sorted_by_operation_time_manager_version_and_subresource() -> None:
    def entry(operation: str, time: str, manager: str, version: str, subresource: str = "") -> Any:
        new_entry: dict[str, Any] = {
            "manager": manager,
            "operation": operation,
            "apiVersion": version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {}},
        }
        return new_entry | ({"subresource": subresource} if subresource else {})

    expected = [
        entry("Apply", LATER, "z", "v1"),
        entry("Update", NOW, "b", "v1"),
        entry("Update", LATER, "a", "v1"),
        entry("Update", LATER, "a", "v1", "status"),
        entry("Update", LATER, "a", "v2"),
        entry("Update", LATER, "c", "v1"),
    ]
    assert encode_managers(decode_managers(expected[::-1])) == expected


def test_an_entry_without_a_time_is_the_oldest() -> None:
    live = write_object(None, config_map(a="1"), "late", now=NOW)
    [entry] = live["metadata"]["managedFields"]
    timeless = {key: value for key, value in entry.items() if key != "time"} | {"manager": "z"}
    sent_object = {**live, "metadata": {"name": "ap", "managedFields": [entry, timeless]}}
    result = write_object(live, sent_object, "other", schema=CONFIG_MAP)
    assert list(owners(result)) == ["z", "late"]
