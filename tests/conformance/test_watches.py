"""Watches: from a version, without a version, with bookmarks, with selectors, in shards, in other formats."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import DEFINITIONS, METADATA, TABLE, Client, version_of
from conformance.kinds import BAZ, foo, foos

END_MARK = "k8s.io/initial-events-end"
STREAMING = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def test_a_watch_from_a_version_shows_every_change_after_it_in_order(client: Client) -> None:
    target = foos(client.namespace)
    since = version_of(client.create(target, foo("a")))
    client.merge(f"{target}/a", {"spec": {"size": 5}})
    client.create(target, foo("b"))
    client.fetch("DELETE", f"{target}/a")
    with client.watch(f"{target}?resourceVersion={since}") as stream:
        events = stream.take(3)
        client.create(target, foo("c"))
        events += stream.take(1)
    assert [(change, obj["metadata"]["name"]) for change, obj in events] == [
        ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("ADDED", "c"),
    ]  # fmt: skip
    versions = [int(version_of(obj)) for _, obj in events]
    assert versions == sorted(set(versions))
    assert events[2][1]["spec"]["size"] == 5  # the last state, at the version of the deletion


def test_sv_10_a_watch_without_a_version_begins_with_the_existing_objects(client: Client) -> None:
    target = foos(client.namespace)
    client.create(target, foo("b"))
    client.create(target, foo("a"))
    with client.watch(target) as stream:
        assert stream.take_names(2) == [("ADDED", "a"), ("ADDED", "b")]
        client.fetch("DELETE", f"{target}/b")
        assert stream.take_names(1) == [("DELETED", "b")]


@pytest.mark.kubernetes(gate="WatchList")
def test_sv_09_a_streaming_list_marks_the_end_of_the_existing_objects(client: Client) -> None:
    target = foos(client.namespace)
    client.create(target, foo("a"))
    created = client.create(target, foo("b"))
    with client.watch(f"{target}?{STREAMING}") as stream:
        *initial, (kind, end_bookmark) = stream.take(3)
        assert [(change, obj["metadata"]["name"]) for change, obj in initial] == [
            ("ADDED", "a"),
            ("ADDED", "b"),
        ]
        assert (kind, end_bookmark["kind"], set(end_bookmark["metadata"])) == (
            "BOOKMARK",
            "Foo",
            {"annotations", "resourceVersion"},
        )
        assert end_bookmark["metadata"]["annotations"][END_MARK] == "true"  # 1.32 adds an empty list
        assert int(version_of(end_bookmark)) >= int(version_of(created))
        client.merge(f"{target}/a", {"spec": {"size": 9}})
        assert stream.take_names(1) == [("MODIFIED", "a")]


@pytest.mark.kubernetes(gate="WatchList")
def test_wl_23_a_plain_watch_without_a_version_has_the_end_bookmark_too(client: Client) -> None:
    with client.watch(f"{foos(client.namespace)}?allowWatchBookmarks=true") as stream:
        [(change, end_bookmark)] = stream.take(1)
    assert (change, end_bookmark["metadata"]["annotations"][END_MARK]) == ("BOOKMARK", "true")


@pytest.mark.kubernetes(gate="WatchList")
def test_sv_09_no_end_bookmark_is_sent_unless_bookmarks_are_requested(client: Client) -> None:
    target = foos(client.namespace)
    with client.watch(f"{target}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan") as stream:
        client.create(target, foo("a"))
        assert stream.take_names(1) == [("ADDED", "a")]


def test_a_watch_ends_cleanly_when_its_time_is_over(client: Client) -> None:
    target = foos(client.namespace)
    since = version_of(client.create(target, foo("a")))
    with client.watch(f"{target}?resourceVersion={since}&timeoutSeconds=1") as stream:
        assert stream.take_all() == []


def test_sv_08_an_object_that_enters_a_selector_is_added_and_one_that_leaves_it_is_deleted(
    client: Client,
) -> None:
    since = version_of(client.config("a"))
    with client.watch(f"{client.configmaps}?resourceVersion={since}&labelSelector=l%3D1") as stream:
        target = f"{client.configmaps}/a"
        client.merge(target, {"metadata": {"labels": {"l": "1"}}})
        client.merge(target, {"data": {"a": "2"}})
        updated = client.merge(target, {"metadata": {"labels": {"l": "2"}}, "data": {"a": "3"}})
        events = stream.take(3)
    assert [change for change, _ in events] == ["ADDED", "MODIFIED", "DELETED"]
    last = events[-1][1]
    assert (last["data"], last["metadata"]["labels"]) == ({"a": "2"}, {"l": "1"})
    assert version_of(last) == version_of(updated)


def test_a_single_object_is_watched_by_its_name(client: Client) -> None:
    since = version_of(client.config("a"))
    query = f"fieldSelector=metadata.name%3Db&resourceVersion={since}"
    with client.watch(f"{client.configmaps}?{query}") as stream:
        client.config("c")
        client.config("b")
        assert stream.take_names(1) == [("ADDED", "b")]


def test_a_get_of_a_named_object_ignores_the_watch_parameter(client: Client) -> None:
    created = client.config("a")
    assert client.get(f"{client.configmaps}/a?watch=true") == created


def test_sv_06_a_version_outside_of_the_window_is_a_410_in_the_stream(client: Client) -> None:
    with client.watch(f"{foos(client.namespace)}?resourceVersion=1") as stream:
        [(change, status)] = stream.take_all()
    assert (stream.status, change) == (200, "ERROR")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


def test_sv_07_a_watch_waits_for_a_future_version(client: Client) -> None:
    then = int(version_of(client.config("a"))) + 1_000_000
    query = f"resourceVersion={then}&timeoutSeconds=1"
    with client.watch(f"{client.configmaps}?{query}") as stream:
        assert stream.take_all() == []


@pytest.mark.kubernetes(gate="WatchList")
def test_sv_07_a_streaming_list_of_a_future_version_times_out(client: Client) -> None:
    then = int(version_of(client.config("a"))) + 1_000_000
    with client.watch(f"{client.configmaps}?{STREAMING}&resourceVersion={then}") as stream:
        [(change, status)] = stream.take_all()
    assert (change, status["code"], status["reason"]) == ("ERROR", 504, "Timeout")


def test_a_watch_from_an_invalid_version_is_a_500(client: Client) -> None:
    status = client.expect_refusal("GET", f"{client.configmaps}?watch=true&resourceVersion=x")
    assert (status["code"], "reason" in status) == (500, False)


def test_sv_26_a_watch_is_served_as_tables_and_as_metadata(client: Client) -> None:
    target = foos(client.namespace)
    client.create(target, foo("a"))
    with client.watch(target, Accept=TABLE) as stream:
        [(_, first)] = stream.take(1)
        client.create(target, foo("b"))
        [(_, second)] = stream.take(1)
    assert [row["cells"][0] for row in (*first["rows"], *second["rows"])] == ["a", "b"]
    assert first["columnDefinitions"]
    assert second["columnDefinitions"] is None
    with client.watch(target, Accept=METADATA) as stream:
        [(_, obj)] = stream.take(1)
    assert (obj["kind"], obj["metadata"]["name"], "spec" in obj) == ("PartialObjectMetadata", "a", False)


@pytest.mark.kubernetes(gate="ShardedListAndWatch")
def test_shards_of_a_watch_contain_each_change_once(client: Client) -> None:
    target = foos(client.namespace)
    since = version_of(client.create(target, foo("first")))
    for number in range(12):
        client.create(target, foo(f"a{number:02}"))
    names_: list[str] = []
    half, end = 1 << 63, 1 << 64
    for start, stop in ((0, half), (half, end)):
        bounds = f"%270x{start:016x}%27,%270x{stop:016x}%27"
        query = f"shardSelector=shardRange(object.metadata.uid,{bounds})&timeoutSeconds=5"
        with client.watch(f"{target}?resourceVersion={since}&{query}") as stream:
            names_ += [obj["metadata"]["name"] for _, obj in stream.take_all()]
    assert sorted(names_) == [f"a{number:02}" for number in range(12)]


def test_a_new_schema_ends_the_watches_of_its_kind_cleanly(client: Client) -> None:
    names = {"plural": "ends", "singular": "end", "kind": "End", "listKind": "EndList"}
    definition: dict[str, Any] = BAZ | {
        "metadata": {"name": "ends.suite.test"},
        "spec": BAZ["spec"] | {"names": names},
    }
    client.define(definition)
    target = f"/apis/suite.test/v1/namespaces/{client.namespace}/ends"
    with client.watch(f"{target}?resourceVersion={version_of(client.get(target))}") as stream:
        version: dict[str, Any] = BAZ["spec"]["versions"][0]
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}}
        changed = {"spec": {"versions": [{**version, "schema": schema}]}}
        client.merge(f"{DEFINITIONS}/ends.suite.test", changed)
        assert stream.take_all() == []
    client.fetch("DELETE", f"{DEFINITIONS}/ends.suite.test")
    client.wait_until_deleted(DEFINITIONS, "ends.suite.test")


def test_two_watches_from_the_same_version_have_the_same_events(client: Client) -> None:
    target = foos(client.namespace)
    since = version_of(client.create(target, foo("a")))
    for size in range(1, 6):
        client.merge(f"{target}/a", {"spec": {"size": size}})
    query = f"{target}?resourceVersion={since}"
    with client.watch(query) as first, client.watch(query) as second:
        assert first.take(5) == second.take(5)
