"""Following without an event loop: a watch that survives everything, a cache that threads can read."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import pytest
from sync_rig import Answer, Book, Scripted, book, client_of, drain, found, refusal

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import CredentialsError
from kubeproto.watching import resync
from kubeproto_runtime import BlockingClient, KindNotServed
from kubeproto_runtime.blocking import BlockingReflector

HOUR: Final = 3600.0
PLAIN: Final = resync.Settings(streaming=False)


class Over(Exception):
    """The time of a test is over."""


def over() -> None:
    raise Over


def put(cluster: sim.Cluster, name: str, title: str = "") -> None:
    cluster.put(book(name, title, namespace="default"))


def told(event: kp.WatchEvent[Book]) -> str:
    match event:
        case kp.Added(one) | kp.Modified(one) | kp.Deleted(one):
            sign = {kp.Added: "+", kp.Modified: "~", kp.Deleted: "-"}[type(event)]
            return f"{sign}{one.metadata.name}:{one.spec.title}"
        case kp.Bookmark(initial_events_end=True):
            return "whole"
        case _:
            return repr(event)


def heard(cluster: sim.Cluster, faults: sim.Faults | None = None, **facts: Any) -> list[str]:
    """What a follower tells until somebody ends the test from inside of the cluster."""
    seen: list[str] = []
    events = cast("Any", client_of(cluster, faults).api(Book)).follow(**facts)
    with pytest.raises(Over):
        drain(events, lambda event: seen.append(told(event)))
    return seen


# Following


@pytest.mark.parametrize("streaming", [True, False])
def test_what_is_there_comes_first_then_that_it_is_all_then_what_changes(streaming: bool) -> None:
    cluster = sim.Cluster(crds=[Book])
    put(cluster, "a", "A")
    put(cluster, "b", "B")
    cluster.later(5, lambda: put(cluster, "c", "C"))
    cluster.later(6, lambda: put(cluster, "a", "AA"))
    cluster.later(7, lambda: cluster.remove(Book, "b"))
    cluster.later(HOUR, over)
    seen = heard(cluster, settings=resync.Settings(streaming=streaming))
    assert seen == ["+a:A", "+b:B", "whole", "+c:C", "~a:AA", "-b:B"]


def test_what_vanished_in_a_gap_is_deleted_and_what_did_not_change_comes_not_again() -> None:
    cluster = sim.Cluster(crds=[Book])
    for name in ("a", "b", "c"):
        put(cluster, name)

    def gap() -> None:
        cluster.end_watches(Book)
        cluster.remove(Book, "b")
        put(cluster, "c", "new")
        cluster.compact()

    cluster.later(100, gap)
    cluster.later(HOUR, over)
    assert heard(cluster) == ["+a:", "+b:", "+c:", "whole", "-b:", "~c:new", "whole"]


def test_an_empty_snapshot_is_whole_too() -> None:
    for streaming in (True, False):
        cluster = sim.Cluster(crds=[Book])
        cluster.later(10, over)
        assert heard(cluster, settings=resync.Settings(streaming=streaming)) == ["whole"]


@pytest.mark.parametrize("streaming", [True, False])
def test_selectors_choose_what_is_followed(streaming: bool) -> None:
    cluster = sim.Cluster(crds=[Book])
    cluster.put(book("a", namespace="default", labels={"shelf": "sea"}))
    put(cluster, "b")
    cluster.later(10, lambda: put(cluster, "c"))
    cluster.later(20, over)
    settings = resync.Settings(streaming=streaming)
    assert heard(cluster, settings=settings, label_selector="shelf=sea") == ["+a:", "whole"]


def test_a_watch_whose_other_side_is_gone_is_noticed() -> None:
    cluster = sim.Cluster(crds=[Book])
    faults = sim.Faults(cluster, script=[sim.HalfOpen(after=0)])
    began = cluster.now
    with client_of(cluster, faults).api(Book).follow() as events:
        assert told(next(events)) == "whole"
    assert 70 < cluster.now - began < 80


def test_clients_that_failed_together_come_back_apart() -> None:
    waits: list[float] = []
    for draw in (0.0, 0.5):
        server = Scripted(kp.ConnectError("refused"), Over("the end"))
        with pytest.raises(Over):
            next(server.client(draw=draw).api(Book).follow())
        waits += server.waits()
    assert waits == [0.8, 1.2]


@pytest.mark.parametrize("seed", range(5))
def test_a_day_of_faults_ends_with_what_the_server_holds(seed: int) -> None:
    cluster = sim.Cluster(crds=[Book])
    faults = sim.Faults(cluster, seed=seed, share=0.3)
    for number in range(200):
        name = f"b{number % 20}"
        cluster.later(number * 400.0, partial(put, cluster, name, str(number)))
        if number % 7 == 0:
            cluster.later(number * 400.0 + 90, partial(cluster.remove, Book, name))
    cluster.later(23 * HOUR, faults.calm)
    cluster.later(24 * HOUR, over)
    snapshot: dict[str, str] = {}

    def take(event: kp.WatchEvent[Book]) -> None:
        match event:
            case kp.Added(one) | kp.Modified(one):
                snapshot[one.metadata.name] = one.metadata.resource_version
            case kp.Deleted(one):
                assert snapshot.pop(one.metadata.name, None) is not None, "what is not there is deleted"
            case _:
                pass

    with pytest.raises(Over):
        drain(client_of(cluster, faults).api(Book).follow(), take)
    there = [obj["metadata"] for obj in cluster.objects(Book)]
    assert snapshot == {one["name"]: one["resourceVersion"] for one in there}


def test_leaving_the_loop_closes_the_watch() -> None:
    cluster = sim.Cluster(crds=[Book])
    put(cluster, "a")
    with client_of(cluster).api(Book).follow() as events:
        assert told(next(events)) == "+a:"
        assert len(cluster.watches) == 1
    assert not cluster.watches
    assert list(events) == []


def test_a_kind_that_is_not_there_is_said_unless_it_is_to_be_waited_for() -> None:
    cluster = sim.Cluster()
    books = client_of(cluster).api(Book)
    with pytest.raises(KindNotServed):
        next(books.follow())
    began = cluster.now
    cluster.later(25, lambda: cluster.define(Book))
    with books.follow(wait_for_definition=True) as events:
        assert told(next(events)) == "whole"
    assert 25 <= cluster.now - began < 60


def test_a_kind_that_goes_away_for_a_while_is_waited_for() -> None:
    server = Scripted(
        Answer(200, (), [page("a", version=5)]),
        refusal(404, "NotFound"),
        Answer(200, (), [page("a", version=9)]),
        Over("the end"),
    )
    seen: list[str] = []
    with pytest.raises(Over):
        drain(server.client().api(Book).follow(settings=PLAIN), lambda event: seen.append(told(event)))
    assert seen[:2] == ["+a:a", "whole"]
    assert len(server.requests) >= 3


def test_another_object_under_the_name_comes_after_the_deletion_of_the_first() -> None:
    cluster = sim.Cluster(crds=[Book])
    put(cluster, "a", "first")

    def gap() -> None:
        cluster.end_watches(Book)
        cluster.remove(Book, "a")
        put(cluster, "a", "second")
        cluster.compact()

    cluster.later(10, gap)
    cluster.later(HOUR, over)
    assert heard(cluster) == ["+a:first", "whole", "-a:first", "+a:second", "whole"]


def test_a_refusal_is_waited_out_whatever_its_body(caplog: pytest.LogCaptureFixture) -> None:
    empty = Answer(200, (), [page(version=7)])
    server = Scripted(refusal(403, "Forbidden"), empty, refusal(403, "Forbidden"), Over("the end"))
    with pytest.raises(Over):
        drain(server.client().api(Book).follow(settings=PLAIN), told)
    assert [wait >= 10 for wait in server.waits()] == [True, False, True]
    assert ["403 Forbidden" in record.getMessage() for record in caplog.records] == [True, True]


def test_missing_credentials_are_waited_for_as_rights_are(caplog: pytest.LogCaptureFixture) -> None:
    server = Scripted(CredentialsError("the plugin 'login' ended with 1"), Over("the end"))
    with pytest.raises(Over):
        next(server.client().api(Book).follow())
    [wait] = server.waits()
    assert wait >= 10
    assert "the plugin 'login' ended with 1" in caplog.text


def test_what_does_not_fit_its_type_is_told_and_the_rest_goes_on() -> None:
    broken = (
        b'{"kind": "BookList", "metadata": {"resourceVersion": "7"}, "items": [7, %s]}' % found("a").body[0]
    )
    server = Scripted(Answer(200, (), [broken]), Over("the end"))
    seen: list[str] = []
    with pytest.raises(Over):
        drain(server.client().api(Book).follow(settings=PLAIN), lambda event: seen.append(told(event)))
    assert seen == ["+a:", "whole"]


# A reflector, in virtual time and without threads


class Here:
    """Runs what a reflector would run beside, in this thread and when told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


def reflecting(cluster: sim.Cluster, here: Here, faults: sim.Faults | None = None) -> BlockingReflector[Book]:
    client = client_of(cluster, faults)
    return BlockingReflector(client, client.requests(Book), spawn=here)


def test_a_reflector_gives_each_reader_an_object_of_its_own() -> None:
    cluster, here = sim.Cluster(crds=[Book]), Here()
    put(cluster, "a", "A")
    reflector = reflecting(cluster, here)
    with reflector as shelf:
        cluster.later(10, reflector.stop)
        here.run()
    one, other = shelf.get("a"), shelf.get("a", "default")
    assert one is not None
    assert other is not None
    one.spec.title = "scribbled"
    assert other.spec.title == "A"
    assert [book.spec.title for book in shelf] == ["A"]
    assert (len(shelf), "default/a" in shelf, "default/b" in shelf) == (1, True, False)
    assert shelf.get("b") is None
    assert shelf.version


def test_a_refresh_relists_once() -> None:
    cluster, here = sim.Cluster(crds=[Book]), Here()
    put(cluster, "a")
    reflector = reflecting(cluster, here)

    def refresh() -> None:
        reflector.refresh()
        reflector.refresh()  # one snapshot at a time

    with reflector:
        cluster.later(30, refresh)
        cluster.later(300, reflector.stop)
        here.run()
    asked = [exchange.request.target for exchange in cluster.log if "/books" in exchange.request.target]
    assert [target for target in asked if "sendInitialEvents=true" in target] == [asked[0], asked[1]]
    reflector.refresh()  # it has been stopped
    assert not here.waiting


def test_a_refresh_that_is_followed_by_a_stop_asks_for_nothing() -> None:
    cluster, here = sim.Cluster(crds=[Book]), Here()
    reflector = reflecting(cluster, here)
    with reflector:
        cluster.later(30, reflector.refresh)
        cluster.later(31, reflector.stop)
        here.run()
    assert len([exchange for exchange in cluster.log if "/books" in exchange.request.target]) == 1


def test_a_reflector_says_how_it_stands() -> None:
    cluster, here = sim.Cluster(), Here()  # which does not know books
    reflector = reflecting(cluster, here)
    assert reflector.sync_status.reason == "it has not been started, or is paused"
    with reflector:
        cluster.later(15, reflector.stop)
        here.run()
    sync_status = reflector.sync_status
    assert not sync_status.synced
    assert sync_status.reason.startswith("it has been stopped, after")


def test_who_waits_for_an_unknown_kind_is_told_and_a_patient_one_waits_on() -> None:
    for patient in (False, True):
        cluster, here = sim.Cluster(), Here()
        client = client_of(cluster)
        reflector = BlockingReflector(client, client.requests(Book), spawn=here, wait_for_definition=patient)
        cluster.later(15, reflector.stop)
        with reflector:
            here.run()
        with pytest.raises(kp.LocalProtocolError if patient else KindNotServed):
            reflector.synced(timeout=0.0)


def test_a_stop_before_a_request_is_sent_leaves_it_unsent() -> None:
    server, here = Scripted(Answer(200, (), [page("a", version=5)]), kp.TransportError("cut")), Here()

    def sleep(seconds: float) -> None:
        server.sleep(seconds)
        if len(server.requests) == 2:
            reflector.stop()

    client = BlockingClient(server, clock=lambda: server.now, sleep=sleep)
    reflector = BlockingReflector(client, client.requests(Book), settings=PLAIN, spawn=here)
    with reflector:
        here.run()
    assert len(server.requests) == 2
    assert len(reflector) == 1


def test_a_reflector_in_an_hour_of_faults_is_exact() -> None:
    cluster, here = sim.Cluster(crds=[Book]), Here()
    faults = sim.Faults(cluster, seed=3, share=0.4)
    for number in range(100):
        cluster.later(number * 30.0, partial(put, cluster, f"b{number % 9}", str(number)))
    reflector = reflecting(cluster, here, faults)
    with reflector:
        cluster.later(HOUR, faults.calm)
        cluster.later(2 * HOUR, reflector.stop)
        here.run()
    held = {f"default/{one['metadata']['name']}": one["spec"]["title"] for one in cluster.objects(Book)}
    assert {f"default/{one.metadata.name}": one.spec.title for one in reflector} == held
    assert reflector.sync_status.synced


# A reflector, read by threads


class Hand:
    """A server whose every word is given by hand: each watch says what is put into its queue."""

    def __init__(self) -> None:
        self.asked: queue.Queue[tuple[str, queue.Queue[bytes | Exception | None]]] = queue.Queue()

    @contextmanager
    def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[Answer]:
        words: queue.Queue[bytes | Exception | None] = queue.Queue()
        self.asked.put((request.target, words))

        class Said(list[bytes]):
            def __iter__(self) -> Iterator[bytes]:
                while (word := words.get(timeout=30)) is not None:
                    if isinstance(word, Exception):
                        raise word
                    yield word

        yield Answer(200, (), Said())

    def next(self) -> tuple[str, queue.Queue[bytes | Exception | None]]:
        return self.asked.get(timeout=30)


def page(*titles: str, version: int) -> bytes:
    items = b",".join(line(title, version) for title in titles)
    head = b'{"kind":"BookList","apiVersion":"example.io/v1","metadata":{"resourceVersion":"%d"},"items":['
    return head % version + items + b"]}"


def line(title: str, version: int) -> bytes:
    head = b'{"apiVersion":"example.io/v1","kind":"Book","metadata":{"name":"%s","namespace":"default",'
    rest = b'"resourceVersion":"%d","uid":"u"},"spec":{"title":"%s"}}'
    return head % title.encode() + rest % (version, title.encode())


def event(sort: str, title: str, version: int) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (sort.encode(), line(title, version))


def test_threads_wait_for_what_they_want_to_see() -> None:
    server = Hand()
    client = BlockingClient(server)
    with client.api(Book).reflect(settings=PLAIN) as shelf:
        _, words = server.next()
        assert shelf.version == ""
        words.put(page("a", version=5))
        words.put(None)
        shelf.synced(timeout=30)
        _, words = server.next()
        found: list[str] = []

        def look() -> None:
            found.append(shelf.wait(lambda: shelf.get("b"), timeout=30).metadata.name)

        readers = [threading.Thread(target=look) for _ in range(3)]
        for reader in readers:
            reader.start()
        words.put(event("ADDED", "b", 6))
        shelf.reached("6", timeout=30)
        for reader in readers:
            reader.join(timeout=30)
        assert found == ["b"] * 3
        with pytest.raises(kp.DeadlineExceeded, match=r"did not hold within 0\.01 s"):
            shelf.reached("7", timeout=0.01)
        words.put(None)


def test_a_refresh_does_not_wait_for_a_watch_that_says_nothing() -> None:
    server = Hand()
    with BlockingClient(server).api(Book).reflect(settings=PLAIN) as shelf:
        _, words = server.next()
        words.put(page("a", version=5))
        words.put(None)
        target, silent = server.next()
        assert "watch=true" in target
        shelf.refresh()
        target, words = server.next()
        assert "watch" not in target
        words.put(page("a", "b", version=9))
        words.put(None)
        shelf.reached("9", timeout=30)
        assert len(shelf) == 2
        _, words = server.next()
        # What the old watch still brings is of no account.
        silent.put(event("DELETED", "a", 10))
        silent.put(None)
        words.put(event("MODIFIED", "b", 11))
        shelf.reached("11", timeout=30)
        assert len(shelf) == 2
        words.put(None)


def test_after_a_stop_nothing_is_asked_and_nothing_changes() -> None:
    server = Hand()
    with BlockingClient(server).api(Book).reflect(settings=PLAIN) as shelf:
        _, words = server.next()
        words.put(page("a", version=5))
        words.put(None)
        shelf.synced(timeout=30)
        _, words = server.next()
    words.put(event("ADDED", "b", 6))  # now its thread sees that it is over
    for thread in threading.enumerate():
        if thread.name == "reflector of books":
            thread.join(timeout=30)
            assert not thread.is_alive()
    assert [one.metadata.name for one in shelf] == ["a"]
    assert server.asked.empty()


def test_a_bug_in_its_thread_reaches_the_readers_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    server = Hand()
    with BlockingClient(server).api(Book).reflect(settings=PLAIN) as shelf:
        _, words = server.next()
        words.put(ZeroDivisionError("a bug"))
        with pytest.raises(RuntimeError, match="its thread has failed") as failed:
            shelf.synced(timeout=30)
        assert isinstance(failed.value.__cause__, ZeroDivisionError)
        with pytest.raises(RuntimeError):
            shelf.get("a")
    assert "ZeroDivisionError: a bug" in caplog.text


def test_troubles_are_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    cluster = sim.Cluster(crds=[Book])
    faults = sim.Faults(cluster, script=[sim.RefuseConnection()])
    cluster.later(60, over)
    heard(cluster, faults)
    [record] = caplog.records
    assert (record.name, record.levelno) == ("kubeproto.watch", logging.WARNING)


def test_a_task_that_waits_for_a_stopped_reflector_is_woken() -> None:
    """The wait has no timeout: without the wake-up this would hang, so another thread waits."""
    server = Hand()
    looking, ended = threading.Event(), queue.Queue[BaseException]()
    with BlockingClient(server).api(Book).reflect(settings=PLAIN) as reflector:

        def wait() -> None:
            try:
                reflector.wait(looking.set)
            except BaseException as error:
                ended.put(error)

        _, words = server.next()
        words.put(page(version=5))
        words.put(None)
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert looking.wait(30)
        _, words = server.next()
        reflector.stop()
        assert isinstance(ended.get(timeout=30), kp.LocalProtocolError)
        words.put(None)
    thread.join(30)


READS: list[Callable[[BlockingReflector[Book]], object]] = [
    lambda cached: cached.get("a"),
    list,
    len,
    lambda cached: "default/a" in cached,
]


@pytest.mark.parametrize("read", READS, ids=["get", "iter", "len", "contains"])
def test_a_reflector_that_has_not_synced_is_not_read_as_empty(
    read: Callable[[BlockingReflector[Book]], object],
) -> None:
    cluster, here = sim.Cluster(crds=[Book]), Here()
    put(cluster, "a")
    reflector = reflecting(cluster, here)
    with pytest.raises(kp.LocalProtocolError, match=r"before it is entered: use `with api\.reflect\(\)"):
        read(reflector)
    with reflector:
        with pytest.raises(kp.LocalProtocolError, match=r"has not synced, because .*reflector\.synced\(\)"):
            read(reflector)
        cluster.later(10, reflector.stop)
        here.run()
    assert read(reflector)


def test_a_condition_is_not_called_before_there_is_something_to_read() -> None:
    cluster, here = sim.Cluster(crds=[Book]), Here()
    reflector = reflecting(cluster, here)
    with reflector:
        with pytest.raises(kp.DeadlineExceeded, match="has not synced within 0 s, because"):
            reflector.wait(lambda: len(reflector) == 0, timeout=0.0)
        cluster.later(10, reflector.stop)
        here.run()
    assert reflector.wait(lambda: len(reflector) == 0, timeout=0.0)


def test_a_reflector_of_all_namespaces_is_asked_for_an_object_by_its_namespace() -> None:
    cluster, here = sim.Cluster(crds=[Book]), Here()
    put(cluster, "a", "A")
    client = client_of(cluster)
    reflector = BlockingReflector(client, client.requests(Book, namespace=kp.ALL), spawn=here)
    with reflector:
        cluster.later(10, reflector.stop)
        here.run()
    with pytest.raises(kp.LocalProtocolError, match=r"use get\('a', namespace\)"):
        reflector.get("a")
    found = reflector.get("a", "default")
    assert found is not None
    assert found.spec.title == "A"
