"""The book on ordinary writes: who changed what, and since when."""

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
    applied,
    config_map,
    foo,
    owners,
    recorded,
    refused,
    times,
    written,
)

from kubeproto.objects import GroupVersionKind
from kubeproto_sim.apply import decode_managers, encode_managers, merge_schema_of_kind
from kubeproto_sim.apply._field_managers import limit_updaters
from kubeproto_sim.apply.fieldsets import paths


def sent_back(name: str, *without: str) -> dict[str, Any]:
    """What a recorded write made of the object, as far as the writer had a hand in it."""
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
    created = written(None, sent_back(name), entry["manager"], now=entry["time"])
    assert created["metadata"]["managedFields"] == [entry]


def test_a_created_custom_resource_has_the_entry_that_was_recorded() -> None:
    [entry] = entries_of("cr-create-201")
    created = written(None, sent_back("cr-create-201"), entry["manager"], now=entry["time"])
    assert created["metadata"]["managedFields"] == [entry]


def test_a_created_definition_owns_what_its_typed_form_does_not_have_anyway() -> None:
    schema = merge_schema_of_kind(GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    [entry] = entries_of("crd-create-201")
    created = sent_back("crd-create-201", "status")
    assert owners(written(None, created, "wire", schema=schema)) == {"wire": entry["fieldsV1"]}


def test_a_created_pod_owns_its_containers_by_name() -> None:
    [entry] = entries_of("delete-pod-graceful-200")
    pod = sent_back("delete-pod-graceful-200", "status")
    for later in ("nodeName", "tolerations", "priority", "preemptionPolicy"):  # bound, and set on admission
        del pod["spec"][later]
    for later in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        del pod["metadata"][later]
    assert owners(written(None, pod, "wire", schema=POD)) == {"wire": entry["fieldsV1"]}


def test_a_created_namespace_owns_its_label() -> None:
    schema = merge_schema_of_kind(GroupVersionKind("", "v1", "Namespace"))
    [entry] = entries_of("delete-namespace-200")
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "t1", "labels": {"kubernetes.io/metadata.name": "t1"}},
    }
    created = written(None, namespace, "wire", schema=schema, now=entry["time"])
    assert created["metadata"]["managedFields"] == [entry]


def test_sv_12_the_status_has_an_entry_of_its_own() -> None:
    _, answer = recorded("status-subresource-patch-200")
    expected = answer["metadata"]["managedFields"]
    metadata = {"name": "u2", "labels": {"x": "1"}}
    before = {**foo(color="red", size=5), "metadata": metadata}
    created = written(None, before, "wire", now=expected[0]["time"])
    after = {**created, "status": {"note": "q"}}
    patched = written(created, after, "wire", now=expected[1]["time"], subresource="status")
    assert patched["metadata"]["managedFields"] == expected


def test_a_struct_that_is_always_there_is_not_owned_and_a_pointer_is() -> None:
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
    assert owners(written(None, deployment, "wire", schema=DEPLOYMENT)) == {
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


def test_a_change_takes_the_field_from_all_others_appliers_too() -> None:
    live = applied(None, config_map(a="1", b="1"), "m1")
    changed = written(live, {**live, "data": {"a": "2", "b": "1"}}, "wire", now=LATER)
    assert owners(changed) == {"m1": {"f:data": {"f:b": {}}}, "wire": {"f:data": {"f:a": {}}}}
    assert times(changed) == {"m1": NOW, "wire": LATER}


def test_a_writer_keeps_what_it_owned_and_takes_what_it_changes() -> None:
    live = written(None, config_map(a="1"))
    more = written(live, {**live, "data": {"a": "1", "b": "1"}}, now=LATER)
    assert owners(more) == {"wire": {"f:data": {".": {}, "f:a": {}, "f:b": {}}}}
    assert times(more) == {"wire": LATER}


def test_a_write_that_changes_nothing_leaves_the_book_as_it_is() -> None:
    live = written(None, config_map(a="1"))
    assert written(live, live, "other", now=LATER) == live
    reordered = {**live, "data": dict(reversed(list(live["data"].items())))}
    assert written(live, reordered, now=LATER)["metadata"] == live["metadata"]


def test_a_write_that_only_removes_makes_no_entry_and_keeps_the_time() -> None:
    live = written(None, config_map(a="1", b="1"))
    less = written(live, {**live, "data": {"a": "1"}}, "other", now=LATER)
    assert owners(less) == {"wire": {"f:data": {".": {}, "f:a": {}}}}
    assert times(less) == {"wire": NOW}


def test_a_writer_in_another_version_has_another_entry() -> None:
    live = written(None, foo(size=1))
    both = written(live, {**live, "spec": {"size": 1, "color": "red"}}, api_version="wire.test/v2")
    assert [entry["apiVersion"] for entry in both["metadata"]["managedFields"]] == [
        "wire.test/v1",
        "wire.test/v2",
    ]


@pytest.mark.parametrize(
    ("before", "after", "fields"),
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
def test_a_change_is_owned_as_the_schema_has_it(
    before: dict[str, Any], after: dict[str, Any], fields: dict[str, Any] | None
) -> None:
    live = written(None, foo(**before), "first")
    taken = owners(written(live, {**live, "spec": after}, "second", schema=FOO)).get("second")
    assert taken == (None if fields is None else {"f:spec": fields})


# What a body says of managers itself.


@pytest.mark.parametrize("reset", [[], [{}]])
def test_sv_20_a_reset_ends_the_book_until_somebody_applies(reset: list[Any]) -> None:
    live = written(None, config_map(a="1"))
    cleared = written(live, {**live, "metadata": {"name": "ap", "managedFields": reset}}, "other")
    assert "managedFields" not in cleared["metadata"]
    again = written(cleared, {**cleared, "data": {"a": "2"}}, "wire")
    assert "managedFields" not in again["metadata"]
    assert "before-first-apply" in refused(again, config_map(a="3"), "m1").message


def test_managers_that_are_left_out_are_kept_and_through_a_subresource_they_are_ignored() -> None:
    live = written(None, config_map(a="1"))
    assert owners(written(live, config_map(a="1"), "other")) == owners(live)
    nobody: list[Any] = []
    cleared = {**live, "metadata": {"name": "ap", "managedFields": nobody}}
    assert owners(written(live, cleared, "other", subresource="status")) == owners(live)


def test_managers_that_are_sent_count_and_those_that_cannot_be_read_do_not() -> None:
    live = written(None, config_map(a="1"))
    entry = {**live["metadata"]["managedFields"][0], "manager": "renamed"}
    renamed = {**live, "metadata": {"name": "ap", "managedFields": [entry]}}
    assert owners(written(live, renamed, "other")).keys() == {"renamed"}
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
        assert owners(written(live, broken, "other")) == owners(live)


# Many managers.


def test_of_more_than_ten_updaters_the_oldest_are_put_together() -> None:
    live = written(None, config_map(k0="0"), "w0", now="2026-11-21T01:00:00Z")
    for number in range(1, 13):
        data = {**live["data"], f"k{number}": "1"}
        live = written(live, {**live, "data": data}, f"w{number}", now=f"2026-11-21T01:{number:02}:00Z")
    found = owners(live)
    assert list(found) == ["ancient-changes", *(f"w{number}" for number in range(4, 13))]
    assert found["ancient-changes"] == {"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}}
    assert times(live)["ancient-changes"] == "2026-11-21T01:03:00Z"


def test_a_heap_that_is_there_takes_what_is_older_and_loses_nothing() -> None:
    def entry(manager: str, minute: int) -> dict[str, Any]:
        return {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": f"2026-11-21T01:{minute:02}:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:{manager}": {}}},
        }

    sent = [*(entry(f"w{number}", number) for number in range(11)), entry("ancient-changes", 30)]
    managers = limit_updaters(decode_managers(sent))
    everything = {path for held in managers.values() for path in paths(held.fields)}
    assert everything == {("f:data", f"f:{each['manager']}") for each in sent}
    assert len(managers) <= 10


def test_appliers_are_not_counted_and_each_version_has_a_heap_of_its_own() -> None:
    live = applied(None, foo(labels={"a": "1"}), "applier")
    for number in range(12):
        labels = {**live["spec"]["labels"], f"l{number}": "1"}
        version = f"wire.test/v{number % 2 + 1}"
        now = f"2026-11-21T01:{number:02}:00Z"
        live = written(live, {**live, "spec": {"labels": labels}}, f"w{number}", now=now, api_version=version)
    entries = live["metadata"]["managedFields"]
    assert entries[0]["manager"] == "applier"
    heaps = [entry for entry in entries if entry["manager"] == "ancient-changes"]
    assert sorted(entry["apiVersion"] for entry in heaps) == ["wire.test/v1", "wire.test/v2"]
    assert len([entry for entry in entries if entry["operation"] == "Update"]) == 10


def test_entries_are_sorted_by_operation_time_manager_version_and_subresource() -> None:
    def entry(operation: str, time: str, manager: str, version: str, subresource: str = "") -> Any:
        found: dict[str, Any] = {
            "manager": manager,
            "operation": operation,
            "apiVersion": version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {}},
        }
        return found | ({"subresource": subresource} if subresource else {})

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
    live = written(None, config_map(a="1"), "late", now=NOW)
    [entry] = live["metadata"]["managedFields"]
    timeless = {key: value for key, value in entry.items() if key != "time"} | {"manager": "z"}
    sent = {**live, "metadata": {"name": "ap", "managedFields": [entry, timeless]}}
    after = written(live, sent, "other", schema=CONFIG_MAP)
    assert list(owners(after)) == ["z", "late"]
