"""Watches: their start, their events and times, and their end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from raw_client import BOOKS, CONFIGMAPS, MERGE, Book, RawClient, event_names, events

import kubeproto as kp
import kubeproto_sim as sim


@pytest.fixture
def client() -> RawClient:
    return RawClient()


def test_sv_06_a_watch_at_an_old_version_is_an_error_event_or_a_410(client: RawClient) -> None:
    client.config("a")
    client.cluster.compact()
    watch = client.watch(f"{CONFIGMAPS}?resourceVersion=1")
    assert event_names(watch.take()) == [("ERROR", "410")]
    assert watch.ended
    for modes, reason in ((sim.Modes(gone="http-expired"), "Expired"), (sim.Modes(gone="http-gone"), "Gone")):
        client.cluster.modes = modes
        status = client.expect_refusal("GET", f"{CONFIGMAPS}?watch=1&resourceVersion=1")
        assert (status["code"], status["reason"]) == (410, reason)


def test_sv_07_a_watch_from_the_future_waits_and_a_streaming_list_fails(client: RawClient) -> None:
    client.config("a")
    future = client.cluster.version + 2
    watch = client.watch(f"{CONFIGMAPS}?resourceVersion={future}")
    for name in "bcd":
        client.config(name)
    assert event_names(watch.take()) == [("ADDED", "d")]
    streaming = f"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={future + 100}"
    failed = client.watch(f"{CONFIGMAPS}?{streaming}")
    [(change, status)] = events(failed.take())
    assert (change, status["code"], client.response.delay) == ("ERROR", 504, 3.0)
    assert failed.ended


def test_sv_08_objects_enter_and_leave_a_selector_with_the_versions_of_the_changes(client: RawClient) -> None:
    watch = client.watch(f"{CONFIGMAPS}?labelSelector=app=x&resourceVersion={client.cluster.version}")
    client.config("a", labels={"app": "x"})
    relabelled = client.fetch(
        "PATCH", f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "y"}}, "data": {"a": "2"}}, MERGE
    )
    client.fetch("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "3"}}, MERGE)
    client.fetch("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "x"}}}, MERGE)
    received = events(watch.take())
    assert [change for change, _ in received] == ["ADDED", "DELETED", "ADDED"]
    assert received[1][1]["metadata"]["resourceVersion"] == relabelled["metadata"]["resourceVersion"]
    assert received[1][1]["data"] == {"a": "1"}
    assert received[2][1]["data"] == {"a": "3"}


def test_sv_09_requested_bookmarks_are_sent_each_minute_and_before_the_end(client: RawClient) -> None:
    since = f"resourceVersion={client.cluster.version}&timeoutSeconds=130"
    allowed = client.watch(f"{CONFIGMAPS}?{since}&allowWatchBookmarks=true")
    silent = client.watch(f"{CONFIGMAPS}?{since}")
    times: list[float] = []
    start = client.cluster.now
    while not allowed.ended:
        client.cluster.advance(0.5)
        if data := allowed.take():
            times.append(client.cluster.now - start)
            [(change, obj)] = events(data)
            assert change == "BOOKMARK"
            assert obj == {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": str(client.cluster.version)},
            }
    assert times == [60.0, 120.0, 128.0]
    assert silent.ended
    assert silent.take() == b""


def test_sv_09_the_closing_bookmark_is_annotated_and_sent_only_on_request(client: RawClient) -> None:
    client.book("a")
    (_, book), (change, bookmark) = events(client.watch(f"{BOOKS}?allowWatchBookmarks=true").take())
    assert book["metadata"]["name"] == "a"
    assert (change, bookmark["metadata"]["annotations"]) == (
        "BOOKMARK",
        {"k8s.io/initial-events-end": "true"},
    )
    assert event_names(client.watch(BOOKS).take()) == [("ADDED", "a")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["ADDED", "BOOKMARK"]),
        ("resourceVersion=0", ["ADDED", "BOOKMARK"]),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", ["ADDED", "BOOKMARK"]),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", []),
        ("resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", []),
    ],
)
def test_sv_10_a_watch_without_a_version_begins_with_the_existing_objects(
    client: RawClient, query: str, expected: list[str]
) -> None:
    client.config("a")
    watch = client.watch(f"{CONFIGMAPS}?allowWatchBookmarks=true&{query}")
    assert [change for change, _ in events(watch.take())] == expected


def test_sv_10_an_old_server_begins_with_the_existing_objects_without_an_end_bookmark(
    client: RawClient,
) -> None:
    client.config("a")
    client.cluster.modes = sim.Modes(streaming_lists=False)
    assert event_names(client.watch(f"{CONFIGMAPS}?allowWatchBookmarks=true").take()) == [("ADDED", "a")]
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    assert (
        client.expect_refusal("GET", f"{CONFIGMAPS}?{query}")["details"]["causes"][0]["field"]
        == "sendInitialEvents"
    )


@pytest.mark.parametrize("annotation", ["missing", "false", "without-version"])
def test_a_server_can_be_configured_without_end_bookmarks(client: RawClient, annotation: Any) -> None:
    client.cluster.modes = sim.Modes(end_mark=annotation)
    received = events(client.watch(f"{CONFIGMAPS}?allowWatchBookmarks=true").take())
    if annotation == "missing":
        assert received == []
    elif annotation == "false":
        assert received[0][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "false"}
    else:
        assert "resourceVersion" not in received[0][1]["metadata"]


def test_a_watch_ends_cleanly_at_its_timeout_and_gets_no_later_events(client: RawClient) -> None:
    watch = client.watch(f"{CONFIGMAPS}?timeoutSeconds=10")
    client.cluster.advance(9.5)
    client.config("a")
    client.cluster.advance(1)
    client.config("b")
    assert event_names(watch.take()) == [("ADDED", "a")]
    assert watch.ended
    at_once = client.watch(f"{CONFIGMAPS}?timeoutSeconds=-1")
    assert (at_once.take(), at_once.ended) == (b"", True)


def test_a_new_schema_ends_all_watches_of_the_kind_and_labels_on_the_definition_do_not(
    client: RawClient,
) -> None:
    watch, other = client.watch(BOOKS), client.watch(CONFIGMAPS)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/books.example.io"
    client.fetch("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert watch.take() == b""
    assert watch in client.cluster.watches
    definition = client.fetch("GET", path)
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
        "year"
    ] = {"type": "integer"}
    client.fetch("PUT", path, definition)
    assert client.status == 200
    assert watch.take() == b""
    assert (watch.ended, other.ended) == (True, False)
    assert client.book("b", year=1851)["spec"]["year"] == 1851


def test_a_watcher_that_falls_behind_the_window_is_silently_closed() -> None:
    client = RawClient(sim.Cluster(window=10))
    watch = client.watch(CONFIGMAPS)
    for number in range(200):
        client.config(f"a{number}")
    assert watch.take() == b""
    assert watch.ended


def test_history_covers_its_window_and_little_more() -> None:
    client = RawClient(sim.Cluster(window=160))
    for number in range(400):
        client.config(f"a{number}")
        newest = client.cluster.version
        if number >= 200:
            reached = event_names(client.watch(f"{CONFIGMAPS}?resourceVersion={newest - 160}").take())
            assert len(reached) == 160
            expired = event_names(client.watch(f"{CONFIGMAPS}?resourceVersion={newest - 190}").take())
            assert expired == [("ERROR", "410")]


def test_a_kind_that_is_defined_after_a_compaction_has_no_history_before_it() -> None:
    client = RawClient(sim.Cluster())
    client.config("a")
    compacted_version = client.cluster.version
    client.config("b")
    client.cluster.compact()
    client.cluster.define(Book)
    assert event_names(client.watch(f"{BOOKS}?resourceVersion={compacted_version}").take()) == [
        ("ERROR", "410")
    ]


def test_a_watch_at_a_future_version_gets_no_bookmark_before_it(client: RawClient) -> None:
    future = client.cluster.version + 2
    watch = client.watch(f"{CONFIGMAPS}?allowWatchBookmarks=true&resourceVersion={future}")
    client.cluster.advance(61)
    assert watch.take() == b""
    for name in "abc":
        client.config(name)
    client.cluster.advance(60)
    assert [change for change, _ in events(watch.take())] == ["ADDED", "BOOKMARK"]


def test_a_collection_and_a_single_object_can_be_watched_by_the_old_path(client: RawClient) -> None:
    client.config("a")
    client.config("b")
    answer = client.send("GET", "/api/v1/watch/namespaces/default/configmaps/b")
    assert not isinstance(answer.body, bytes)
    assert event_names(answer.body.take()) == [("ADDED", "b")]
    plain = client.fetch("GET", f"{CONFIGMAPS}/a?watch=true&fieldSelector=metadata.name=b")
    assert plain["metadata"]["name"] == "a"


def test_every_watcher_gets_the_same_bytes_of_an_event(client: RawClient) -> None:
    watches = [client.watch(f"{CONFIGMAPS}?resourceVersion={client.cluster.version}") for _ in range(3)]
    client.config("a")
    first, *others = [watch.take() for watch in watches]
    assert event_names(first) == [("ADDED", "a")]
    assert all(other == first for other in others)
    assert json.loads(first)["object"]["kind"] == "ConfigMap"


def test_reading_an_idle_watch_advances_the_time(client: RawClient) -> None:
    books = kp.Api(Book, namespace="default")
    request = books.watch(resource_version=str(client.cluster.version), timeout_seconds=90)
    start = client.cluster.now
    with client.cluster.blocking_transport().send(request) as incoming:
        decoder = request.open(incoming.status, incoming.headers)
        received = [event for chunk in incoming for event in decoder.feed(chunk)]
    assert [type(event) for event in received] == [kp.Bookmark, kp.Bookmark]
    assert client.cluster.now - start == 90


def test_silence_beyond_the_idle_timeout_is_a_deadline_exceeded(client: RawClient) -> None:
    request = kp.Api(Book, namespace="default").watch(resource_version=str(client.cluster.version))
    with (
        client.cluster.blocking_transport().send(request, idle=30) as incoming,
        pytest.raises(kp.DeadlineExceeded),
    ):
        list(incoming)


def test_history_beyond_the_window_is_expired_for_watches_and_lists() -> None:
    client = RawClient(sim.Cluster(window=10))
    first = client.cluster.version
    for number in range(100):
        client.config(f"a{number:02}")
    assert event_names(client.watch(f"{CONFIGMAPS}?resourceVersion={first}").take()) == [("ERROR", "410")]
    exact = f"resourceVersion={first + 1}&resourceVersionMatch=Exact"
    assert client.expect_refusal("GET", f"{CONFIGMAPS}?{exact}")["reason"] == "Expired"
    recent = client.watch(f"{CONFIGMAPS}?resourceVersion={client.cluster.version - 5}")
    assert [name for _, name in event_names(recent.take())] == ["a95", "a96", "a97", "a98", "a99"]
