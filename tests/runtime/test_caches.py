"""Caches: one cache for the same arguments, what it tells and to whom, and how it begins and ends."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Change, StoreFull
from kubeproto.kinds.core_v1 import ConfigMap, Namespace
from kubeproto.objects import Selector
from kubeproto.watching import resync
from kubeproto_runtime import Caches, KindNotServed
from kubeproto_runtime.caches import Cache
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


class Page(kp.Object[dict[str, Any], None], group="example.com", version="v1", plural="pages"):
    """A kind that nobody has installed."""


def told(batches: list[list[Change[Book]]]) -> list[tuple[str, str]]:
    return [(change.type, change.key) for batch in batches for change in batch]


async def failure_of(work: Callable[[], Awaitable[None]]) -> BaseException | None:
    """The one error that this ends with."""
    try:
        await work()
    except BaseException as error:
        found = error
        while (within := getattr(found, "exceptions", None)) is not None:
            [found] = within
        return found
    return None


# One cache


def test_the_same_arguments_give_the_same_cache_and_one_watch(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            assert caches.cache(Book, label_selector=Selector.parse("")) is books
            others: list[Cache[Any]] = [
                caches.cache(Book, namespace="default"),
                caches.cache(Book, label_selector="a=b"),
                caches.cache(kp.Metadata[Book]),
                caches.cache(Book, managed_fields=True),
            ]
            assert books not in others
            for cache in (books, *others):
                await cache.wait_synced()
            assert len(cluster.watches) == 5
            assert repr(books) == "Cache(books.example.com/v1, 0 objects)"

    go(main)


def test_ca_01_a_cache_begins_when_it_is_first_asked_for_also_before_its_context(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            caches = Caches(client)
            early = caches.cache(Book)
            async with caches:
                await early.wait_synced()
                late = caches.cache(ConfigMap)
                assert (late.synced, late.version) == (False, "")
                await late.wait_synced()
            assert "moby" in [one.metadata.name for one in early]

    go(main)


def test_ca_05_each_reader_has_an_object_of_his_own(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            mine, [other] = books.get("moby", "default"), list(books)
            assert mine is not None
            mine.spec.title = "spoilt"
            assert other.spec.title == "Moby-Dick"
            assert books.get("moby", "default") == other
            with pytest.raises(kp.LocalProtocolError, match=r"use get\('moby', namespace\)"):
                books.get("moby")
            with pytest.raises(kp.LocalProtocolError, match=r"use get\('moby', namespace\)"):
                books.view(selector="a!=b").get("moby")
            entry = books.entry("default/moby")
            assert entry is not None
            assert entry.version == other.metadata.resource_version
            assert (books.keys(), "default/moby" in books, len(books)) == (["default/moby"], True, 1)
            assert books.size == len(entry.raw)

    go(main)


def test_ca_06_a_cache_of_one_namespace_refuses_others_and_holds_cluster_scoped_kinds(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book, namespace="default")
            await books.wait_synced()
            assert books.get("moby") == books.get("moby", "default")
            with pytest.raises(kp.LocalProtocolError, match="contains namespace 'default', not 'other'"):
                books.get("moby", "other")
            namespaces = caches.cache(Namespace)
            await namespaces.wait_synced()
            assert namespaces.get("default") is not None

    go(main)


def test_ca_08_a_dropped_cache_can_be_read_and_asked_for_anew(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            first = caches.cache(Book)
            await first.wait_synced()
            caches.drop(first)
            await anyio.sleep(1)
            assert (len(cluster.watches), first.closed, len(first)) == (0, True, 1)
            again = caches.cache(Book)
            assert again is not first
            await again.wait_synced()
            assert len(again) == 1

    go(main)


# What a server does


def test_a_definition_that_is_missing_is_said_at_the_start(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client, Caches(client) as caches:
            with pytest.raises(KindNotServed, match=r"the definition of Page .* is not installed"):
                await caches.cache(Page).wait_synced()
            assert anyio.current_time() < 1

    go(main)


def test_a_definition_may_be_waited_for(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client, Caches(client) as caches:
            pages = caches.cache(Page)
            with pytest.raises(kp.DeadlineExceeded, match="it has not synced within 5 s, because a "):
                await pages.wait_synced(timeout=5, wait_for_definition=True)
            cluster.later(60, lambda: cluster.define(Page))
            await pages.wait_synced(wait_for_definition=True)
            assert 60 < anyio.current_time() < 120
            await pages.wait_synced()

    go(main)


def test_si_05_what_goes_wrong_is_logged_once_and_its_end_is_seen(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Fail(), sim.Fail(), sim.Fail()])
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            await caches.cache(Book).wait_synced()

    with caplog.at_level(logging.WARNING, "kubeproto.cache"):
        go(main)
    [said] = caplog.messages
    assert said.startswith("books.example.com/v1: ")


def test_a_failure_that_comes_again_after_a_list_is_logged_again(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        faults = sim.Faults(cluster := library(), script=[sim.Fail()])
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            await anyio.sleep(2)  # the same line is not logged twice within a second
            faults.script.append(sim.Fail())
            books.refresh()
            await client.until(lambda: books.snapshots == 2)

    with caplog.at_level(logging.WARNING, "kubeproto.cache"):
        go(main)
    assert len(caplog.messages) == 2
    assert caplog.messages[0] == caplog.messages[1]


def test_ca_02_waiting_for_the_first_snapshot_can_be_cancelled(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, seed=1, share=1.0)
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            with anyio.move_on_after(3) as scope:
                await caches.cache(Book).wait_synced()
            assert scope.cancelled_caught

    go(main)


def test_one_s_own_writes_are_read_after_reached(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            moby = await client.api(Book).get("moby")
            moby.spec.title = "The Whale"
            version = (await client.api(Book).replace(moby)).metadata.resource_version
            await books.reached(version)
            seen = books.get("moby", "default")
            assert seen is not None
            assert (seen.spec.title, seen.metadata.resource_version) == ("The Whale", version)
            await books.reached("1")
            with pytest.raises(kp.DeadlineExceeded, match="version 999 has not arrived within 9 s, although"):
                await books.reached("999", timeout=9)

    go(main)


@pytest.mark.parametrize("live", [True, False])
def test_who_waits_is_told_that_the_cache_has_been_closed(go: Go, live: bool) -> None:
    async def main() -> None:
        cluster, ended = library(), list[tuple[float, BaseException | None]]()
        faults = sim.Faults(cluster, script=[] if live else [sim.RefuseConnection()] * 1000)
        async with simulated(cluster, faults=faults) as client, anyio.create_task_group() as tasks:
            async with Caches(client) as caches:
                books = caches.cache(Book)

                async def wait() -> None:
                    found = await failure_of(lambda: books.reached("999", timeout=600))
                    ended.append((anyio.current_time(), found))

                tasks.start_soon(wait)
                await anyio.sleep(5)
                assert (books.synced, ended) == (live, [])
            closed_at = anyio.current_time()
            await anyio.sleep(1)
            [(at, error)] = ended
            assert at == closed_at
            assert isinstance(error, kp.LocalProtocolError)
            assert "its caches have been closed" in str(error)

    go(main)


def test_who_waits_for_a_version_is_woken_by_a_server_that_was_set_back(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        backup = cluster.snapshot()
        for pages in range(5):
            cluster.put(book(pages=pages))
        reached: list[float] = []
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()

            async def wait() -> None:
                await books.reached(str(cluster.version + 10), timeout=600)
                reached.append(anyio.current_time())

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await anyio.sleep(5)
                assert reached == []
                set_back_at = anyio.current_time()
                cluster.restore(backup)
                books.refresh()
                await client.until(lambda: books.version == str(backup.version))
                await anyio.sleep(1)
                assert len(reached) == 1
                assert reached[0] - set_back_at < 60
                tasks.cancel_scope.cancel()

    go(main)


def test_a_version_that_a_restored_server_gives_again_is_waited_for_again(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        backup = cluster.snapshot()
        for pages in range(5):
            cluster.put(book(pages=pages))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            cluster.restore(backup)
            books.refresh()
            await client.until(lambda: books.version == str(backup.version))
            cluster.lag = 1
            cluster.put(book(pages=7))
            with pytest.raises(kp.DeadlineExceeded):
                await books.reached(str(cluster.version), timeout=5)
            cluster.lag = 0
            await books.reached(str(cluster.version), timeout=60)
            assert "default/moby" in books

    go(main)


class Earliest(Random):
    """Sends each request at the first moment at which it may be sent."""

    def uniform(self, a: float, b: float) -> float:
        return a


def test_a_refresh_at_the_moment_of_another_request_replaces_it(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            client.random = Earliest()
            books = caches.cache(Book)
            await books.wait_synced()
            await anyio.sleep_until(5.0)
            faults.script.append(sim.RefuseConnection())

            async def refresh() -> None:
                await anyio.sleep_until(5.0 + resync.Backoff().initial)
                books.refresh()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(refresh)
                await checkpoint()
                cluster.end_watches()
            requests = len(cluster.log)
            cluster.put(book())
            await client.until(lambda: "default/moby" in books)
            assert len(cluster.log) <= requests + 2
            assert books.snapshots == 2

    go(main)


def test_si_12_a_cache_says_how_it_stands_before_while_and_after(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            async with Caches(client) as caches:
                books = caches.cache(Book)
                assert (books.synced, books.closed, books.sync_status.live) == (False, False, False)
                await books.wait_synced()
                await anyio.sleep(1)
                assert (books.synced, books.closed, books.sync_status.live) == (True, False, True)
            assert (books.synced, books.closed, books.sync_status.live) == (True, True, False)
            with pytest.raises(kp.LocalProtocolError, match="not cached any more"):
                await books.reached("999")
            with pytest.raises(kp.LocalProtocolError, match="have been closed"):
                caches.cache(Book)
            with pytest.raises(kp.LocalProtocolError, match="have been opened already"):
                async with caches:
                    pass
            assert cluster.watches == []

    go(main)


# Listeners


def test_si_16_a_listener_first_gets_the_snapshot_and_then_what_changes(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            before: list[list[Change[Book]]] = []
            after: list[list[Change[Book]]] = []
            books.listen(before.append)
            await books.wait_synced()
            books.listen(after.append)
            assert told(before) == told(after) == [("ADDED", "default/moby")]
            assert before[0][0].initial
            assert after[0][0].initial
            cluster.put(book("emma"))
            cluster.remove(Book, "moby")
            await anyio.sleep(1)
            assert told(before) == told(after)
            assert told(after)[1:] == [("ADDED", "default/emma"), ("DELETED", "default/moby")]

    go(main)


def test_si_03_a_listener_that_comes_at_any_moment_sees_everything_once(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for number in range(20):
            cluster.put(book(f"b{number}"))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            listeners: list[list[list[Change[Book]]]] = []
            for number in range(20, 40):
                listeners.append([])
                books.listen(listeners[-1].append)
                cluster.put(book(f"b{number}"))
                await anyio.sleep(0)
            await anyio.sleep(1)
            for listener in listeners:
                assert sorted(told(listener)) == sorted(
                    ("ADDED", f"default/b{number}") for number in range(40)
                )

    go(main)


def test_si_07_si_09_si_10_si_15_a_listener_is_ended_alone_and_twice_is_harmless(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            got: list[list[Change[Book]]] = []
            ends = [books.listen(got.append), books.listen(got.append)]
            await books.wait_synced()
            cluster.put(book("a"))
            await anyio.sleep(1)
            assert told(got) == [("ADDED", "default/a")] * 2
            ends[0]()
            ends[0]()
            cluster.put(book("b"))
            await anyio.sleep(1)
            assert told(got)[2:] == [("ADDED", "default/b")]

    go(main)


def test_si_18_a_listener_may_end_another_while_both_are_told(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            got: list[list[Change[Book]]] = []
            books.listen(lambda changes: end())
            end = books.listen(got.append)
            cluster.put(book())
            await books.wait_synced()
            assert got == []

    go(main)


def test_si_13_si_14_what_is_closed_is_not_listened_to_and_ending_that_is_harmless(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            async with Caches(client) as caches:
                books = caches.cache(Book)
                end = books.listen(lambda changes: None)
            end()
            with pytest.raises(kp.LocalProtocolError, match="not cached any more"):
                books.listen(lambda changes: None)

    go(main)


def test_si_17_a_listener_that_fails_ends_all_caches_and_the_others_are_told(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        got: list[list[Change[Book]]] = []

        def fail(changes: list[Change[Book]]) -> None:
            raise kp.NotFound(kp.Status(message="mine"))

        async def read() -> None:
            async with simulated(cluster) as client, Caches(client) as caches:
                books = caches.cache(Book)
                await books.wait_synced()
                books.listen(fail)
                books.listen(got.append)
                cluster.put(book())
                await anyio.sleep(60)

        error = await failure_of(read)
        assert isinstance(error, RuntimeError)
        assert str(error).startswith("a listener of books.example.com/v1 has failed: NotFound(")
        assert told(got) == [("ADDED", "default/moby")]
        assert cluster.watches == []

    go(main)


def test_a_listener_may_ask_for_a_relist(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            books.listen(lambda changes: books.refresh())
            cluster.put(book())
            await anyio.sleep(30)
            cluster.put(book("emma"))
            await anyio.sleep(30)
            assert (len(books), books.sync_status.live) == (2, True)

    go(main)


# Gaps


def test_si_04_after_a_gap_only_what_changed_is_told_with_deletions(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("stays", "changes", "goes"):
            cluster.put(book(name))
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            got: list[list[Change[Book]]] = []
            books.listen(got.append)
            got.clear()
            faults.script += [sim.RefuseConnection()] * 3
            cluster.end_watches()
            cluster.put(book("comes"))
            cluster.put(book("changes", title="new"))
            cluster.remove(Book, "goes")
            cluster.compact()
            await anyio.sleep(120)
            assert sorted(told(got)) == [
                ("ADDED", "default/comes"),
                ("DELETED", "default/goes"),
                ("MODIFIED", "default/changes"),
            ]
            [gone] = [change for batch in got for change in batch if change.type == "DELETED"]
            assert gone.assumed
            assert gone.object.spec.title == "Moby-Dick"

    go(main)


def test_readers_keep_the_old_snapshot_while_a_new_one_comes(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for number in range(30):
            cluster.put(book(f"b{number}"))
        settings = resync.Settings(streaming=False, page_size=10)
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book, settings=settings)
            await books.wait_synced()
            sizes = {len(books)}
            emitted: list[list[Change[Book]]] = []
            books.listen(emitted.append)
            emitted.clear()
            books.refresh()
            while not books.sync_status.live or anyio.current_time() < 5:
                sizes.add(len(books))
                await anyio.sleep(0.001)
            assert (sizes, emitted) == ({30}, [])

    go(main)


# What is kept


def test_managed_fields_are_kept_only_if_wanted_and_versions_stay(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            written = await client.api(Book).create(book())
            assert written.metadata.managed_fields
            for cache, kept in ((caches.cache(Book), False), (caches.cache(Book, managed_fields=True), True)):
                await cache.wait_synced()
                seen = cache.get("moby", "default")
                assert seen is not None
                assert bool(seen.metadata.managed_fields) is kept
                assert seen.metadata.resource_version == written.metadata.resource_version
                assert seen.spec == written.spec

    go(main)


@pytest.mark.parametrize("streaming", [True, False])
def test_r_32_si_06_ca_07_a_transform_is_done_once_to_each_object_and_readers_see_its_work(
    go: Go, streaming: bool
) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        cluster.put(book("b"))
        done: list[bytes] = []

        def shout(raw: bytes) -> bytes:
            done.append(raw)
            return raw.replace(b"Moby-Dick", b"MOBY-DICK")

        async with simulated(cluster) as client, Caches(client) as caches:
            settings = resync.Settings(streaming=streaming)
            books = caches.cache(Book, transform=shout, settings=settings)
            plain = caches.cache(Book)
            await books.wait_synced()
            await plain.wait_synced()
            assert len(done) == 2
            cluster.put(book("c"))
            await anyio.sleep(1)
            assert [one.spec.title for one in books] == ["MOBY-DICK"] * 3
            assert [one.spec.title for one in plain] == ["Moby-Dick"] * 3
            assert len(done) == 3

    go(main)


def test_a_transform_that_fails_leaves_the_object_as_it_came_and_is_said_once(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("a", "b", "c"):
            cluster.put(book(name))

        def fail(raw: bytes) -> bytes:
            raise LookupError("no")

        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book, transform=fail)
            await books.wait_synced()
            assert [one.spec.title for one in books] == ["Moby-Dick"] * 3

    go(main)
    [said] = caplog.messages
    assert said == "books.example.com/v1: a transform failed; objects for which it fails are cached unchanged"


@pytest.mark.parametrize(
    ("most", "why"),
    [
        ({"max_objects": 2}, "the cache of Book exceeds max_objects=2"),
        ({"max_bytes": 1000}, "exceeds max_bytes=1000"),
    ],
)
def test_a_cache_that_grows_too_large_ends_with_a_clear_error(go: Go, most: Any, why: str) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("a", "b"):
            cluster.put(book(name))

        async def read() -> None:
            async with simulated(cluster) as client, Caches(client) as caches:
                books = caches.cache(Book, **most)
                await books.wait_synced()
                cluster.put(book("c", title="c" * 600))
                await anyio.sleep(60)

        error = await failure_of(read)
        assert isinstance(error, StoreFull)
        assert why in str(error)

    go(main)


def test_metadata_alone_is_asked_for_and_kept(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books: Cache[kp.Metadata[Book]] = caches.cache(kp.Metadata[Book])
            await books.wait_synced()
            entry = books.entry("default/moby")
            assert entry is not None
            assert b"Moby-Dick" not in entry.raw

    go(main)


def test_a_callback_learns_when_a_cache_is_no_longer_live_and_when_it_is_again(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            await anyio.sleep(1)
            seen: list[bool] = []
            books.notify(lambda: seen.append(books.sync_status.live))
            faults.script.append(sim.RefuseConnection())
            cluster.end_watches()
            await anyio.sleep(60)
            assert (seen[0], seen[-1]) == (False, True)

    go(main)
