"""The synchronous client: it has the verbs of the core; calls and their retries, pages, subresources."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import pytest
from sync_rig import Answer, Book, Scripted, book, client_of, drain, found, refusal

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Rate
from kubeproto.kinds.core_v1 import ConfigMap, Node, Pod
from kubeproto.requests import Subresource, Tables
from kubeproto.wire import NO_RETRIES, RetryPolicy
from kubeproto_runtime import BlockingClient, Client, KindNotServed, WaitTimeout
from kubeproto_runtime.blocking import BlockingApi, BlockingSubresource, BlockingTables
from kubeproto_runtime.client import BoundApi
from kubeproto_runtime.conditions import deleted

# What is not sent by itself, what talks both ways at once, and what `client.open` sends.
ELSEWHERE = {"namespace", "exec", "attach", "port_forward", "watch"}


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


def test_what_takes_several_requests_has_the_parameters_of_the_asynchronous_client() -> None:
    for name in (
        "get_or_none",
        "pages",
        "items",
        "wait_for",
        "update",
        "as_table",
        "finalize",
        "subresource",
        "follow",
    ):
        ours, theirs = (inspect.signature(getattr(cls, name)).parameters for cls in (BlockingApi, BoundApi))
        assert list(ours.values()) == list(theirs.values()), name
    for name in ("api", "call", "discover", "fetch", "health", "open", "openapi_document", "openapi_index",
                 "requests", "require", "version"):  # fmt: skip
        ours, theirs = (inspect.signature(getattr(cls, name)).parameters for cls in (BlockingClient, Client))
        assert [(p.name, p.kind, p.default) for p in ours.values()] == [
            (p.name, p.kind, p.default) for p in theirs.values()
        ], name


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
        assert [row.cells[0] for row in table.rows] == ["p"]
    assert [p.metadata.name for page in pods.pages() for p in page.items] == ["p"]


def test_a_log_is_followed_line_by_line() -> None:
    server = Scripted(Answer(200, (), [b"one\ntw", b"o\nthree"]), Answer(200, (), [b"all of it"]))
    pods = server.client().api(Pod)
    with pods.follow_log("p", container="c") as lines:
        assert [bytes(line) for line in lines] == [b"one", b"two", b"three"]
    assert pods.log("p") == "all of it"
    assert server.requests[0].target.endswith("/pods/p/log?follow=true&container=c")


def test_a_watch_is_one_watch_a_list_a_chunk() -> None:
    cluster = sim.Cluster(crds=[Book])
    client = client_of(cluster)
    books = client.api(Book)
    version = books.create(book("a")).metadata.resource_version
    cluster.later(5, lambda: cluster.put(book("b", namespace="default")))
    request = books.requests.watch(resource_version=version, timeout_seconds=20)
    with client.open(request) as stream:
        seen = [event for events in stream for event in events]
    assert [event.object.metadata.name for event in seen if isinstance(event, kp.Added)] == ["b"]
    assert all(isinstance(event, kp.Added | kp.Bookmark) for event in seen)


# Retries


def test_rq_21_a_busy_server_is_asked_again_when_it_says_with_the_whole_body() -> None:
    busy = refusal(429, "TooManyRequests", ("Retry-After", "1"))
    server = Scripted(busy, busy, busy, found("a"))
    server.client(draw=0.0).api(Book).create(book("a", "Moby-Dick"))
    assert server.waits() == [1.0, 1.0, 1.0]
    assert len({request.body for request in server.requests}) == 1
    assert b"Moby-Dick" in server.requests[-1].body


def test_rq_09_what_may_have_been_done_is_the_cause_of_a_later_error() -> None:
    server = Scripted(kp.TransportError("cut"), refusal(409, "AlreadyExists"))
    with pytest.raises(kp.AlreadyExists) as failed:
        server.client().api(Book).create(book("a"))
    assert isinstance(failed.value.__cause__, kp.TransportError)


def test_rq_09_an_error_that_says_the_same_is_not_a_cause_and_a_certain_failure_is_none() -> None:
    server = Scripted(*[kp.TransportError("cut") for _ in range(5)])
    with pytest.raises(kp.TransportError) as same:
        server.client().api(Book).create(book("a"))
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
        server.client(retries=RetryPolicy(max_retries=1)).api(Book).create(book("a"))
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
        kp.DeadlineExceeded,
        match="the rate of this client permits the next request in 30 s, after the deadline",
    ):
        books.get("a")
    assert (server.now, len(server.requests)) == (1000.0, 1)
    server.sleep(30.0)  # what was refused has not used up anything
    books.get("a")


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
    [line] = [record.getMessage() for record in caplog.records]
    assert line.endswith("/books/a: Book.example.io a: v1beta1 Book is deprecated")
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
    asked: list[kp.RawRequest] = []

    def answering(request: kp.RawRequest) -> Any:
        asked.append(request)
        return cluster.respond(request)

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
        drain(client_of(cluster).api(ConfigMap).items(limit=2, on_expired="fail"), take)
    assert seen == ["c0", "c1"]


def test_a_list_may_go_on_with_what_is_there_by_then() -> None:
    cluster = shelf(5)
    seen: list[str] = []
    for item in client_of(cluster).api(ConfigMap).items(limit=2):
        seen.append(item.metadata.name)
        if len(seen) == 2:
            cluster.remove(ConfigMap, "c3")
            cluster.compact()
    assert seen == ["c0", "c1", "c2", "c4"]


def test_a_server_that_repeats_its_token_does_not_turn_a_list_into_a_loop() -> None:
    page = b'{"kind": "BookList", "apiVersion": "example.io/v1", "metadata": {"continue": "t"}, "items": []}'
    server = Scripted(*[Answer(200, (), [page])] * 5)
    with pytest.raises(kp.RemoteProtocolError, match="with the token of the request"):
        list(server.client().api(Book).pages())
    assert len(server.requests) == 2


# What takes several requests


def test_the_server_says_what_it_is_and_what_it_serves() -> None:
    cluster = sim.Cluster(crds=[Book])
    client = client_of(cluster)
    assert client.version().major == "1"
    assert client.health().healthy
    assert client.discover().get(Book.resource.gvk) is not None
    asked = len(cluster.log)
    client.discover()
    assert [exchange.status for exchange in cluster.log[asked:]] == [304, 304]


def test_the_schema_of_the_server_is_asked_for() -> None:
    index = b'{"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=H"}}}'
    server = Scripted(Answer(200, (), [index]), Answer(200, (), [b'{"openapi": "3.0.0"}']))
    client = server.client()
    [(path, digest)] = client.openapi_index().items()
    assert client.openapi_document(path, hash=digest) == {"openapi": "3.0.0"}
    assert [request.target for request in server.requests] == ["/openapi/v3", "/openapi/v3/api/v1?hash=H"]


def test_a_document_that_has_changed_since_the_index_is_read_as_it_is_now() -> None:
    client = client_of(sim.Cluster())
    [digest] = [hash_ for path, hash_ in client.openapi_index().items() if path == "api/v1"]
    assert client.openapi_document("api/v1", hash="AB") == client.openapi_document("api/v1", hash=digest)


def test_a_kind_is_required_and_waited_for() -> None:
    cluster = sim.Cluster()
    client = client_of(cluster)
    client.require(ConfigMap)
    with pytest.raises(KindNotServed, match=r"the definition of Book \(example\.io/v1\) is not installed"):
        client.require(ConfigMap, Book)
    began = cluster.now
    with pytest.raises(KindNotServed):
        client.require(Book, within=5.0)
    assert cluster.now - began == 5.0
    cluster.later(10.0, lambda: cluster.define(Book))
    client.require(Book.resource, within=60.0)
    assert cluster.now - began < 20.0


def test_a_change_is_made_again_for_what_others_made_of_it() -> None:
    cluster = sim.Cluster(crds=[Book])
    books = client_of(cluster).api(Book)
    books.create(book("a", "A"))
    others = ["one", "two"]

    def change(held: Book) -> None:
        if others:
            cluster.put(book("a", others.pop(), namespace="default"))
        held.spec.title += "!"

    assert books.update("a", change).spec.title == "one!"
    before = len(cluster.log)
    assert books.update("a", lambda held: None).spec.title == "one!"
    assert len(cluster.log) == before + 1, "nothing changed, so nothing is written"


def test_a_change_may_make_the_object_that_it_begins_with() -> None:
    cluster = sim.Cluster(crds=[Book])
    books = client_of(cluster).api(Book)

    def title(held: Book) -> None:
        held.spec.title = "Typee"

    with pytest.raises(kp.NotFound):
        books.update("b", title)
    assert books.update("b", title, create=lambda: book("b")).spec.title == "Typee"

    def meanwhile(held: Book) -> None:
        if not cluster.objects(Book)[1:]:
            cluster.put(book("c", "other", namespace="default"))
        held.spec.title += "+"

    assert books.update("c", meanwhile, create=lambda: book("c", "mine")).spec.title == "other+"


def test_conflicts_without_end_end() -> None:
    cluster = sim.Cluster(crds=[Book])
    books = client_of(cluster).api(Book)
    books.create(book("a"))
    met: list[int] = []

    def change(held: Book) -> None:
        met.append(len(met))
        cluster.put(book("a", f"other {met[-1]}", namespace="default"))
        held.spec.title = "mine"

    with pytest.raises(kp.Conflict):
        books.update("a", change)
    assert len(met) == 8


def test_an_object_is_waited_for() -> None:
    cluster = sim.Cluster(crds=[Book])
    books = client_of(cluster).api(Book)
    began = cluster.now
    cluster.later(10.0, lambda: cluster.put(book("a", namespace="default")))
    cluster.later(20.0, lambda: cluster.end_watches(Book))
    cluster.later(20.0, lambda: cluster.put(book("a", "soon over", namespace="default")))
    cluster.later(20.0, lambda: cluster.put(book("a", "done", namespace="default")))
    found = books.wait_for("a", lambda held: held.spec.title == "done")
    assert found.spec.title == "done"
    assert 20.0 <= cluster.now - began < 30.0
    assert not cluster.watches


def test_a_wait_ends_with_its_time_and_says_what_was_missing() -> None:
    cluster = sim.Cluster(crds=[Book])
    books = client_of(cluster).api(Book)
    began = cluster.now
    with pytest.raises(WaitTimeout) as failed:
        books.wait_for("a", lambda held: True, timeout=45.0)
    assert str(failed.value) == "Book default/a is not in the desired state after 45 s: it does not exist"
    assert cluster.now - began == 45.0
    cluster.put(book("a", "A", namespace="default"))
    with pytest.raises(WaitTimeout) as failed:
        books.wait_for("a", lambda held: held.spec.title == "B", timeout=400.0)
    assert isinstance(failed.value.last, Book)
    assert cluster.now - began == 445.0


def test_a_wait_for_something_to_be_gone_ends_when_it_is() -> None:
    cluster = sim.Cluster(crds=[Book])
    books = client_of(cluster).api(Book)
    uid = books.create(book("a")).metadata.uid
    cluster.later(30.0, lambda: cluster.remove(Book, "a"))
    assert books.wait_for("a", deleted(uid)) is None


def test_what_may_not_be_watched_is_not_waited_for() -> None:
    server = Scripted(found("a"), refusal(403, "Forbidden"))
    with pytest.raises(kp.KubeprotoError, match=r"it cannot be watched: .*403 Forbidden"):
        server.client().api(Book).wait_for("a", lambda held: held.spec.title == "B")


def test_a_wait_does_not_outlast_its_time_where_nobody_answers() -> None:
    server = Scripted(found("a"), *[kp.ConnectError("refused") for _ in range(9)])
    with pytest.raises(
        WaitTimeout, match=r"is not in the desired state after 10 s: .*; the last failure was: refused"
    ):
        server.client().api(Book).wait_for("a", lambda held: held.spec.title == "B", timeout=10.0)
    assert server.now == 1010.0
    assert server.times[-1] < 1010.0


def test_trouble_that_is_over_is_not_told_of_a_wait_in_vain() -> None:
    cluster = sim.Cluster(crds=[Book])
    cluster.put(book("a", namespace="default"))
    faults = sim.Faults(cluster, script=[sim.ErrorEvent(code=500)])
    cluster.later(30.0, lambda: cluster.put(book("a", "A", namespace="default")))
    with pytest.raises(WaitTimeout) as failed:
        client_of(cluster, faults).api(Book).wait_for("a", lambda held: False, timeout=90.0)
    assert "the last trouble" not in str(failed.value)
    assert not faults.script


def test_what_is_gone_before_it_can_be_followed_is_seen_to_be_gone() -> None:
    cluster = sim.Cluster(crds=[Book])
    client = client_of(cluster)
    uid = client.api(Book).create(book("a")).metadata.uid

    def answering(request: kp.RawRequest) -> Any:
        answer = cluster.respond(request)
        if request.target.endswith("/a"):
            cluster.remove(Book, "a")
        return answer

    client.transport = sim.BlockingSimTransport(cluster, answering)
    began = cluster.now
    assert client.api(Book).wait_for("a", deleted(uid)) is None
    assert cluster.now - began < 5.0
