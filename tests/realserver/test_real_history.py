"""Lists, watches and caches after a compaction of etcd, and after a restart of the server."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest
import trio

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.watching import resync
from kubeproto.wire import Expired, classify
from kubeproto_runtime import Client
from kubeproto_trio import TrioTransport
from realserver import RealServer

from ._real_asking import PATIENCE, Asker, asking
from ._real_cache import Book, Cache, book

FULL = resync.Settings(streaming=False)
STREAMING = resync.Settings()
SMALL_PAGES = resync.Settings(streaming=False, initial_version="", page_size=2)


@pytest.fixture(scope="module")
def cached(start_real_server: Callable[..., RealServer]) -> Generator[RealServer]:
    """Yield a server with a watch cache that can be killed."""
    server = start_real_server()
    with server, asking(server.connection) as asker:
        asker.define(definition_of(Book))
        yield server


@pytest.fixture(scope="module")
def bare(uncached_server: RealServer) -> RealServer:
    """Yield a server without a watch cache: compacted versions expire at once."""
    with asking(uncached_server.connection) as asker:
        asker.define(definition_of(Book))
    return uncached_server


def forget_by_compaction(server: RealServer) -> None:
    server.compact()


def forget_by_restart(server: RealServer) -> None:
    server.restart()


def failure_of(asker: Asker, books: kp.Api[Book], version: str) -> kp.Status:
    """Return the failure of a watch from this version."""
    with asker.watch(books.watch(resource_version=version, timeout_seconds=5)) as events:
        [event] = events
    assert isinstance(event, kp.WatchFailed)
    return event.status


def test_a_watch_of_a_compacted_version_gets_an_error_event(bare: RealServer) -> None:
    with asking(bare.connection) as asker:
        books = kp.Api(Book, namespace=asker.namespace("stream"))
        old = asker.ask(books.create(book("a"))).metadata.resource_version
        asker.ask(books.create(book("b")))
        bare.compact()
        status = failure_of(asker, books, old)
        assert (status.code, status.reason) == (410, "Expired")
        assert isinstance(classify(status), Expired)


def test_a_list_with_an_expired_token_is_410_with_a_token_that_continues(bare: RealServer) -> None:
    with asking(bare.connection) as asker:
        books = kp.Api(Book, namespace=asker.namespace("pages"))
        for name in "abcde":
            asker.ask(books.create(book(name)))
        page = asker.ask(books.list(limit=2))
        asker.ask(books.delete("c"))
        bare.compact()
        with pytest.raises(kp.Gone) as caught:
            asker.ask(books.list(limit=2, continue_=page.next_page))
        outcome = classify(caught.value)
        assert isinstance(outcome, Expired)
        remainder = asker.ask(books.list(limit=5, continue_=outcome.token))
        assert [item.metadata.name for item in remainder.items] == ["d", "e"]


@pytest.mark.parametrize("settings", [FULL, STREAMING], ids=["list-watch", "streaming-list"])
@pytest.mark.parametrize(
    ("server_of", "forget"),
    [("bare", forget_by_compaction), ("cached", forget_by_restart)],
    ids=["compaction", "restart"],
)
def test_a_cache_reports_exactly_the_changes_that_it_missed_before_a_compaction(
    request: pytest.FixtureRequest,
    server_of: str,
    forget: Callable[[RealServer], None],
    settings: resync.Settings,
) -> None:
    server: RealServer = request.getfixturevalue(server_of)
    with asking(server.connection) as asker:
        books = kp.Api(Book, namespace=asker.namespace("cache"))
        for name in "abc":
            asker.ask(books.create(book(name)))

        async def main() -> None:
            async with TrioTransport(server.connection) as transport:
                cache = Cache(Client(transport), books, settings=settings)
                await run_until(cache, lambda: cache.snapshots == 1 and len(cache.snapshot()) == 3)
                assert sorted(cache.take_changes()) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
                asker.ask(books.delete("a"))
                changed = asker.ask(books.merge_patch("b", {"spec": {"title": "new"}}))
                created = asker.ask(books.create(book("d")))
                forget(server)
                await run_until(cache, lambda: cache.snapshots == 2)
                assert cache.take_changes() == [("DELETED", "a"), ("MODIFIED", "b"), ("ADDED", "d")]
                assert isinstance(cache.troubles[-1].outcome, Expired)
                entries = cache.store.entries()
                for written in (changed, created):
                    key = f"{books.namespace}/{written.metadata.name}"
                    assert entries[key].version == written.metadata.resource_version

        trio.run(main)


def test_a_cache_restarts_its_list_after_a_compaction_between_pages(bare: RealServer) -> None:
    with asking(bare.connection) as asker:
        books = kp.Api(Book, namespace=asker.namespace("paging"))
        for name in "abcde":
            asker.ask(books.create(book(name)))
        pages: list[int] = []

        def staged() -> None:
            pages.append(1)
            if len(pages) == 2:
                asker.ask(books.delete("a"))
                bare.compact()

        async def main() -> None:
            async with TrioTransport(bare.connection) as transport:
                cache = Cache(Client(transport), books, settings=SMALL_PAGES, staged=staged)
                await run_until(cache, lambda: cache.snapshots == 1)
                assert sorted(cache.take_changes()) == [("ADDED", name) for name in "bcde"]
                assert isinstance(cache.troubles[-1].outcome, Expired)

        trio.run(main)


async def run_until(cache: Cache, holds: Callable[[], bool]) -> None:
    """Run a cache until the condition holds."""
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cache.run)
            while not holds():
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
