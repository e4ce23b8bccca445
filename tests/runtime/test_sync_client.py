"""The synchronous client: it has the verbs of the core; calls and their retries, pages, subresources."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import pytest
from sync_rig import Answer, Book, Scripted, book, client_of, drain, found, refusal

import kubeproto as kp
from kubeproto import sim
from kubeproto.control import Rate
from kubeproto.kinds.core_v1 import ConfigMap, Node, Pod
from kubeproto.requests import Subresource, Tables
from kubeproto.wire import NO_RETRIES, RetryPolicy
from kubeproto_runtime._sync_verbs import BlockingApi, BlockingSubresource, BlockingTables

# What is not sent by itself, and what talks both ways at once.
ELSEWHERE = {"namespace", "exec", "attach", "port_forward"}


# The same verbs as the core


def verbs(cls: type[object]) -> dict[str, Any]:
    return {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("core", "bound"),
    [(kp.Api, BlockingApi), (Subresource, BlockingSubresource), (Tables, BlockingTables)],
    ids=["kinds", "subresources", "tables"],
)
def test_every_verb_of_the_core_is_there_with_its_parameters(core: type[object], bound: type[object]) -> None:
    seen = 0
    for name, verb in verbs(core).items():
        if name in ELSEWHERE or isinstance(verb, property) or not callable(verb):
            assert name in ELSEWHERE or hasattr(bound, name) or name in ("api", "include_object", "kind")
            continue
        theirs, ours = (list(inspect.signature(f).parameters.values()) for f in (verb, getattr(bound, name)))
        assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs], (
            name
        )
        seen += 1
    assert seen >= 2


def test_a_verb_gives_the_object_and_call_the_whole_reply() -> None:
    client = client_of(sim.Cluster(crds=[Book]))
    books = client.api(Book)
    made = books.create(book("moby-dick", "Moby-Dick"))
    assert made.metadata.uid
    assert books.get("moby-dick").spec.title == "Moby-Dick"
    reply = client.call(books.requests.get("moby-dick"))
    assert (reply.status, reply.value.metadata.uid) == (200, made.metadata.uid)
    assert books.merge_patch("moby-dick", {"spec": {"title": "The Whale"}}).spec.title == "The Whale"
    assert [one.metadata.name for one in books.list().items] == ["moby-dick"]
    books.delete("moby-dick")
    assert books.get_or_none("moby-dick") is None
    with pytest.raises(kp.NotFound):
        books.get("moby-dick")


def test_a_kind_that_is_not_there_is_no_missing_object() -> None:
    with pytest.raises(kp.NotFound):
        client_of(sim.Cluster()).api(Book).get_or_none("moby-dick")


def test_namespaces_are_that_of_the_client_unless_another_or_none_is_meant() -> None:
    client = Scripted().client(namespace="books")
    assert client.api(Book).namespace == "books"
    assert client.api(Book, namespace="attic").namespace == "attic"
    assert client.api(Book, namespace=kp.ALL).namespace is kp.ALL
    assert client.api(Node).namespace == ""


def test_subresources_and_tables_are_asked_for_as_in_the_core() -> None:
    cluster = sim.Cluster()
    pods = client_of(cluster).api(Pod)
    spec = {"containers": [{"name": "c", "image": "i"}]}
    cluster.put(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}
    )
    running = pods.status.merge_patch("p", {"status": {"phase": "Running"}}).status
    assert running is not None
    assert running.phase == "Running"
    assert pods.subresource("status").get("p").metadata.name == "p"
    for table in (pods.as_table().list(), pods.as_table(include_object="None").get("p")):
        assert [row.cells[0] for row in table.rows or ()] == ["p"]
    assert [p.metadata.name for page in pods.pages() for p in page.items] == ["p"]


def test_a_log_is_followed_line_by_line() -> None:
    server = Scripted(Answer(200, (), [b"one\ntw", b"o\nthree"]), Answer(200, (), [b"all of it"]))
    pods = server.client().api(Pod)
    with pods.follow_log("p", container="c") as lines:
        assert [bytes(line) for line in lines] == [b"one", b"two", b"three"]
    assert pods.log("p") == "all of it"
    assert server.heads[0].target.endswith("/pods/p/log?follow=true&container=c")


def test_a_watch_is_one_watch_a_list_a_chunk() -> None:
    cluster = sim.Cluster(crds=[Book])
    client = client_of(cluster)
    books = client.api(Book)
    version = books.create(book("a")).metadata.resource_version
    cluster.later(5, lambda: cluster.put(book("b", namespace="default")))
    with books.watch(resource_version=version, timeout_seconds=20) as stream:
        seen = [event for events in stream for event in events]
    assert [event.object.metadata.name for event in seen if isinstance(event, kp.Added)] == ["b"]
    assert all(isinstance(event, kp.Added | kp.Bookmark) for event in seen)


# Retries


def test_rq_21_a_busy_server_is_asked_again_when_it_says_with_the_whole_body() -> None:
    busy = refusal(429, "TooManyRequests", ("Retry-After", "1"))
    server = Scripted(busy, busy, busy, found("a"))
    server.client(draw=0.0).api(Book).create(book("a", "Moby-Dick"))
    assert server.waits() == [1.0, 1.0, 1.0]
    assert len({head.body for head in server.heads}) == 1
    assert b"Moby-Dick" in server.heads[-1].body


def test_rq_09_what_may_have_been_done_is_the_cause_of_a_later_error() -> None:
    server = Scripted(kp.TransportError("cut"), refusal(409, "AlreadyExists"))
    with pytest.raises(kp.AlreadyExists) as failed:
        server.client().api(Book).create(book("a"))
    assert isinstance(failed.value.__cause__, kp.TransportError)


def test_rq_09_an_error_that_says_the_same_is_no_cause_and_a_certain_failure_is_none() -> None:
    server = Scripted(*[kp.TransportError("cut") for _ in range(5)])
    with pytest.raises(kp.TransportError) as same:
        server.client().api(Book).get("a")
    assert same.value.__cause__ is None
    server = Scripted(kp.ConnectError("refused"), refusal(409, "AlreadyExists"))
    with pytest.raises(kp.AlreadyExists) as certain:
        server.client().api(Book).create(book("a"))
    assert certain.value.__cause__ is None


def test_rq_09_a_cause_that_an_error_has_already_keeps_its_place() -> None:
    lost, socket = kp.TransportError("lost"), OSError("reset")
    lost.__cause__ = socket
    server = Scripted(kp.TransportError("cut"), lost)
    with pytest.raises(kp.TransportError, match="lost") as failed:
        server.client(retries=RetryPolicy(untold=1)).api(Book).create(book("a"))
    assert failed.value.__cause__ is socket
    assert str(socket.__cause__) == "cut"


def test_all_attempts_together_end_with_the_time_that_was_given() -> None:
    server = Scripted(*[refusal(503, "ServiceUnavailable", ("Retry-After", "4"))] * 5)
    with pytest.raises(kp.ServiceUnavailable):
        server.client(timeout=10.0, draw=0.0).api(Book).get("a")
    assert server.times == [1000.0, 1004.0, 1008.0]
    assert server.limits == [10.0, 6.0, 2.0]


def test_one_call_may_have_other_retries_and_another_time() -> None:
    client = (server := Scripted(refusal(503), refusal(503))).client()
    request = client.api(Book).requests.get("a")
    with pytest.raises(kp.ApiError):
        client.call(request, retries=NO_RETRIES)
    with pytest.raises(kp.ApiError):
        client.call(request, timeout=0.1)
    assert server.limits == [60.0, pytest.approx(0.1)]


def test_rq_34_a_rate_that_would_keep_a_request_too_long_fails_it_at_once() -> None:
    server = Scripted(found("a"), found("a"))
    books = server.client(rate=Rate(every=30.0), timeout=10.0).api(Book)
    books.get("a")
    with pytest.raises(
        kp.DeadlineExceeded, match="the rate of this client lets a request go in 30 s, which is too late"
    ):
        books.get("a")
    assert (server.now, len(server.heads)) == (1000.0, 1)


def test_a_rate_spreads_requests() -> None:
    server = Scripted(*[found("a")] * 4)
    books = server.client(rate=Rate(every=0.5, burst=2)).api(Book)
    for _ in range(4):
        books.get("a")
    assert server.waits() == [0.0, 0.5, 0.5]


def test_a_warning_of_the_server_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    warning = Answer(200, (("Warning", '299 - "v1beta1 Book is deprecated"'),), found("a").body)
    books = Scripted(warning, warning).client().api(Book)
    books.get("a")
    books.get("a")
    assert [record.getMessage() for record in caplog.records] == ["v1beta1 Book is deprecated"]
    assert caplog.records[0].levelno == logging.WARNING


# Pages


def shelf(count: int) -> sim.Cluster:
    cluster = sim.Cluster()
    for number in range(count):
        cluster.put({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": f"c{number}", "namespace": "default", "labels": {"odd": str(number % 2)}},
        })  # fmt: skip
    return cluster


def test_a_list_comes_page_by_page_each_asked_for_when_it_is_wanted() -> None:
    cluster = shelf(5)
    asked: list[kp.Head] = []

    def answering(head: kp.Head) -> Any:
        asked.append(head)
        return cluster.answer(head)

    client = client_of(cluster)
    client.transport = sim.BlockingSimTransport(cluster, answering)
    pages = client.api(ConfigMap).pages(limit=2)
    assert not asked
    assert [len(page.items) for page in pages] == [2, 2, 1]
    assert len(asked) == 3
    items = client.api(ConfigMap).items(limit=2, label_selector="odd=1")
    assert [item.metadata.name for item in items] == ["c1", "c3"]
    assert len(asked) == 4


def test_pg_14_a_version_that_expires_midway_is_an_error_after_the_pages_before() -> None:
    cluster = shelf(5)
    seen: list[str] = []

    def take(item: ConfigMap) -> None:
        seen.append(item.metadata.name)
        if len(seen) == 2:
            cluster.remove(ConfigMap, "c3")
            cluster.compact()

    with pytest.raises(kp.Gone):
        drain(client_of(cluster).api(ConfigMap).items(limit=2), take)
    assert seen == ["c0", "c1"]


def test_a_list_may_go_on_with_what_is_there_by_then() -> None:
    cluster = shelf(5)
    seen: list[str] = []
    for item in client_of(cluster).api(ConfigMap).items(limit=2, on_expired="go on"):
        seen.append(item.metadata.name)
        if len(seen) == 2:
            cluster.remove(ConfigMap, "c3")
            cluster.compact()
    assert seen == ["c0", "c1", "c2", "c4"]


def test_a_server_that_repeats_its_token_does_not_turn_a_list_into_a_loop() -> None:
    page = b'{"kind": "BookList", "apiVersion": "example.io/v1", "metadata": {"continue": "t"}, "items": []}'
    server = Scripted(*[Answer(200, (), [page])] * 5)
    with pytest.raises(kp.RemoteProtocolError, match="with the token that it was asked with"):
        list(server.client().api(Book).pages())
    assert len(server.heads) == 2
