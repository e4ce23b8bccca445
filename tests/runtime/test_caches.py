"""Tests of `Caches`: shared caches, their start and end, versions, listeners, gaps and transforms."""

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
    """A kind whose definition is not installed."""


def changes_of(batches: list[list[Change[Book]]]) -> list[tuple[str, str]]:
    return [(change.type, change.key) for batch in batches for change in batch]


async def failure_of(work: Callable[[], Awaitable[None]]) -> BaseException | None:
    """Return the error that a function raises, without the groups around it."""
    try:
        await work()
    except BaseException as error:
        leaf = error
        while (errors := getattr(leaf, "exceptions", None)) is not None:
            [leaf] = errors
        return leaf
    return None


# Shared caches


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


def test_ca_01_the_first_call_creates_a_cache_even_before_the_caches_are_entered(go: Go) -> None:
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
            assert "moby" in [obj.metadata.name for obj in early]

    go(main)


def test_ca_05_each_reader_gets_a_separate_object(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            changed, [other] = books.get("moby", "default"), list(books)
            assert changed is not None
            changed.spec.title = "changed"
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


def test_ca_06_a_cache_of_a_namespace_refuses_other_namespaces(go: Go) -> None:
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


def test_ca_08_a_dropped_cache_can_be_read_and_replaced_by_a_new_cache(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            first = caches.cache(Book)
            await first.wait_synced()
            caches.drop(first)
            await anyio.sleep(1)
            assert (len(cluster.watches), first.closed, len(first)) == (0, True, 1)
            second = caches.cache(Book)
            assert second is not first
            await second.wait_synced()
            assert len(second) == 1

    go(main)


# Versions and waiting


def test_a_missing_definition_is_an_error_of_wait_synced(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client, Caches(client) as caches:
            with pytest.raises(KindNotServed, match=r"the definition of Page .* is not installed"):
                await caches.cache(Page).wait_synced()
            assert anyio.current_time() < 1

    go(main)


def test_wait_synced_may_wait_for_a_definition(go: Go) -> None:
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


def test_si_05_repeated_failures_are_logged_once(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Fail(), sim.Fail(), sim.Fail()])
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            await caches.cache(Book).wait_synced()

    with caplog.at_level(logging.WARNING, "kubeproto.cache"):
        go(main)
    [message] = caplog.messages
    assert message.startswith("books.example.com/v1: ")


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


def test_reached_waits_for_own_writes(go: Go) -> None:
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
            cached = books.get("moby", "default")
            assert cached is not None
            assert (cached.spec.title, cached.metadata.resource_version) == ("The Whale", version)
            await books.reached("1")
            with pytest.raises(kp.DeadlineExceeded, match="version 999 has not arrived within 9 s, although"):
                await books.reached("999", timeout=9)

    go(main)


@pytest.mark.parametrize("live", [True, False])
def test_closing_a_cache_ends_its_waits_with_an_error(go: Go, live: bool) -> None:
    async def main() -> None:
        cluster, outcomes = library(), list[tuple[float, BaseException | None]]()
        faults = sim.Faults(cluster, script=[] if live else [sim.RefuseConnection()] * 1000)
        async with simulated(cluster, faults=faults) as client, anyio.create_task_group() as tasks:
            async with Caches(client) as caches:
                books = caches.cache(Book)

                async def wait() -> None:
                    error = await failure_of(lambda: books.reached("999", timeout=600))
                    outcomes.append((anyio.current_time(), error))

                tasks.start_soon(wait)
                await anyio.sleep(5)
                assert (books.synced, outcomes) == (live, [])
            closed_at = anyio.current_time()
            await anyio.sleep(1)
            [(ended_at, error)] = outcomes
            assert ended_at == closed_at
            assert isinstance(error, kp.LocalProtocolError)
            assert "its caches have been closed" in str(error)

    go(main)


def test_a_restored_server_ends_a_wait_for_a_version(go: Go) -> None:
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
                restored_at = anyio.current_time()
                cluster.restore(backup)
                books.refresh()
                await client.until(lambda: books.version == str(backup.version))
                await anyio.sleep(1)
                assert len(reached) == 1
                assert reached[0] - restored_at < 60
                tasks.cancel_scope.cancel()

    go(main)


def test_a_wait_for_a_version_that_a_restored_server_assigns_again_waits_again(go: Go) -> None:
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
    """A source of randomness without jitter: each request is sent at its earliest time."""

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


def test_si_12_a_cache_reports_its_state_before_during_and_after_its_context(go: Go) -> None:
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


def test_si_16_a_listener_gets_the_snapshot_and_then_the_changes(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            early_batches: list[list[Change[Book]]] = []
            late_batches: list[list[Change[Book]]] = []
            books.listen(early_batches.append)
            await books.wait_synced()
            books.listen(late_batches.append)
            assert changes_of(early_batches) == changes_of(late_batches) == [("ADDED", "default/moby")]
            assert early_batches[0][0].initial
            assert late_batches[0][0].initial
            cluster.put(book("emma"))
            cluster.remove(Book, "moby")
            await anyio.sleep(1)
            assert changes_of(early_batches) == changes_of(late_batches)
            assert changes_of(late_batches)[1:] == [("ADDED", "default/emma"), ("DELETED", "default/moby")]

    go(main)


def test_si_03_a_listener_that_is_added_at_any_moment_gets_each_object_once(go: Go) -> None:
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
                assert sorted(changes_of(listener)) == sorted(
                    ("ADDED", f"default/b{number}") for number in range(40)
                )

    go(main)


def test_si_07_si_09_si_10_si_15_a_listener_is_removed_alone_and_may_be_removed_twice(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            batches: list[list[Change[Book]]] = []
            removers = [books.listen(batches.append), books.listen(batches.append)]
            await books.wait_synced()
            cluster.put(book("a"))
            await anyio.sleep(1)
            assert changes_of(batches) == [("ADDED", "default/a")] * 2
            removers[0]()
            removers[0]()
            cluster.put(book("b"))
            await anyio.sleep(1)
            assert changes_of(batches)[2:] == [("ADDED", "default/b")]

    go(main)


def test_si_18_a_listener_may_remove_another_during_a_notification(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            batches: list[list[Change[Book]]] = []
            books.listen(lambda changes: remove())
            remove = books.listen(batches.append)
            cluster.put(book())
            await books.wait_synced()
            assert batches == []

    go(main)


def test_si_13_si_14_a_closed_cache_accepts_no_listener_and_allows_to_remove_one(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            async with Caches(client) as caches:
                books = caches.cache(Book)
                remove = books.listen(lambda changes: None)
            remove()
            with pytest.raises(kp.LocalProtocolError, match="not cached any more"):
                books.listen(lambda changes: None)

    go(main)


def test_si_17_a_failing_listener_ends_all_caches_after_the_others_are_notified(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        batches: list[list[Change[Book]]] = []

        def fail(changes: list[Change[Book]]) -> None:
            raise kp.NotFound(kp.Status(message="mine"))

        async def read() -> None:
            async with simulated(cluster) as client, Caches(client) as caches:
                books = caches.cache(Book)
                await books.wait_synced()
                books.listen(fail)
                books.listen(batches.append)
                cluster.put(book())
                await anyio.sleep(60)

        error = await failure_of(read)
        assert isinstance(error, RuntimeError)
        assert str(error).startswith("a listener of books.example.com/v1 has failed: NotFound(")
        assert changes_of(batches) == [("ADDED", "default/moby")]
        assert cluster.watches == []

    go(main)


def test_a_listener_may_refresh_its_cache(go: Go) -> None:
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


def test_si_04_after_a_gap_listeners_get_only_the_changes_including_deletions(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("unchanged", "changed", "deleted"):
            cluster.put(book(name))
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            batches: list[list[Change[Book]]] = []
            books.listen(batches.append)
            batches.clear()
            faults.script += [sim.RefuseConnection()] * 3
            cluster.end_watches()
            cluster.put(book("new"))
            cluster.put(book("changed", title="new"))
            cluster.remove(Book, "deleted")
            cluster.compact()
            await anyio.sleep(120)
            assert sorted(changes_of(batches)) == [
                ("ADDED", "default/new"),
                ("DELETED", "default/deleted"),
                ("MODIFIED", "default/changed"),
            ]
            [deletion] = [change for batch in batches for change in batch if change.type == "DELETED"]
            assert deletion.assumed
            assert deletion.object.spec.title == "Moby-Dick"

    go(main)


def test_readers_keep_the_old_snapshot_until_the_new_snapshot_is_complete(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for number in range(30):
            cluster.put(book(f"b{number}"))
        settings = resync.Settings(streaming=False, page_size=10)
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book, settings=settings)
            await books.wait_synced()
            sizes = {len(books)}
            batches: list[list[Change[Book]]] = []
            books.listen(batches.append)
            batches.clear()
            books.refresh()
            while not books.sync_status.live or anyio.current_time() < 5:
                sizes.add(len(books))
                await anyio.sleep(0.001)
            assert (sizes, batches) == ({30}, [])

    go(main)


# Transforms and limits


def test_managed_fields_are_cached_only_on_request_and_versions_always(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            written = await client.api(Book).create(book())
            assert written.metadata.managed_fields
            cases = ((caches.cache(Book), False), (caches.cache(Book, managed_fields=True), True))
            for cache, has_managed_fields in cases:
                await cache.wait_synced()
                cached = cache.get("moby", "default")
                assert cached is not None
                assert bool(cached.metadata.managed_fields) is has_managed_fields
                assert cached.metadata.resource_version == written.metadata.resource_version
                assert cached.spec == written.spec

    go(main)


@pytest.mark.parametrize("streaming", [True, False])
def test_r_32_si_06_ca_07_a_transform_is_called_once_for_each_object(go: Go, streaming: bool) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        cluster.put(book("b"))
        transformed: list[bytes] = []

        def to_upper(raw: bytes) -> bytes:
            transformed.append(raw)
            return raw.replace(b"Moby-Dick", b"MOBY-DICK")

        async with simulated(cluster) as client, Caches(client) as caches:
            settings = resync.Settings(streaming=streaming)
            books = caches.cache(Book, transform=to_upper, settings=settings)
            untransformed = caches.cache(Book)
            await books.wait_synced()
            await untransformed.wait_synced()
            assert len(transformed) == 2
            cluster.put(book("c"))
            await anyio.sleep(1)
            assert [obj.spec.title for obj in books] == ["MOBY-DICK"] * 3
            assert [obj.spec.title for obj in untransformed] == ["Moby-Dick"] * 3
            assert len(transformed) == 3

    go(main)


def test_an_object_whose_transform_fails_is_cached_unchanged_and_the_failure_is_logged_once(
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
            assert [obj.spec.title for obj in books] == ["Moby-Dick"] * 3

    go(main)
    [message] = caplog.messages
    assert (
        message == "books.example.com/v1: a transform failed; objects for which it fails are cached unchanged"
    )


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_objects": 2}, "the cache of Book exceeds max_objects=2"),
        ({"max_bytes": 1000}, "exceeds max_bytes=1000"),
    ],
)
def test_a_cache_that_exceeds_a_limit_ends_with_store_full(go: Go, limits: Any, message: str) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("a", "b"):
            cluster.put(book(name))

        async def read() -> None:
            async with simulated(cluster) as client, Caches(client) as caches:
                books = caches.cache(Book, **limits)
                await books.wait_synced()
                cluster.put(book("c", title="c" * 600))
                await anyio.sleep(60)

        error = await failure_of(read)
        assert isinstance(error, StoreFull)
        assert message in str(error)

    go(main)


def test_a_cache_of_metadata_requests_and_stores_only_metadata(go: Go) -> None:
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


def test_a_callback_is_notified_when_a_cache_stops_and_begins_to_be_live(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            await anyio.sleep(1)
            live: list[bool] = []
            books.notify(lambda: live.append(books.sync_status.live))
            faults.script.append(sim.RefuseConnection())
            cluster.end_watches()
            await anyio.sleep(60)
            assert (live[0], live[-1]) == (False, True)

    go(main)
