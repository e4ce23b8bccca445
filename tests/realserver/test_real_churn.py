"""Caches follow a server that crashes, compacts and loses connections while writers are busy.

`make churn` uses 5,000 books, `make real` a tenth of that.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack
from itertools import cycle
from typing import Any, Final

import pytest
import trio
from msgspec.structs import replace

import kubeproto as kp
from kubeproto.config import Connection
from kubeproto.crd import definition_of
from kubeproto.watching import resync
from kubeproto.wire import Expired, Garbled, TimedOut
from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client
from kubeproto_trio import TrioTransport
from realserver import RealServer

from ._real_asking import asking
from ._real_cache import Book, Cache, book
from ._real_proxy import Proxy
from ._real_writers import Writer

BOOKS: Final = int(os.environ.get("KUBEPROTO_CHURN", "500"))
WRITERS: Final = 8
FAILURE_COUNT: Final = 24
PATIENCE: Final = 240.0  # seconds until lagging caches have caught up; a silence costs 75

CACHES: Final[dict[str, tuple[Callable[[Connection], Any], resync.Settings]]] = {
    "trio, list and watch": (TrioTransport, resync.Settings(streaming=False)),
    "trio, streaming list": (TrioTransport, resync.Settings()),
    "httpx, list and watch": (HttpxTransport, resync.Settings(streaming=False)),
    "httpx, streaming list": (HttpxTransport, resync.Settings()),
}


@pytest.fixture(params=[True, False], ids=["watch-cache", "bare"])
def server(
    request: pytest.FixtureRequest, start_real_server: Callable[..., RealServer]
) -> Generator[RealServer]:
    with start_real_server(watch_cache=request.param) as server, asking(server.connection) as asker:
        asker.define(definition_of(Book))
        yield server


def test_four_caches_equal_a_server_after_crashes_compactions_and_disconnects(server: RealServer) -> None:
    with asking(server.connection) as asker:
        books = kp.Api(Book, namespace=asker.namespace("churn"))

    async def main() -> dict[str, Cache]:
        churn = Churn(server, books)
        await churn.run()
        return churn.caches

    caches = trio.run(main)
    with asking(server.connection) as asker:
        truth = {book.metadata.name: book for book in asker.ask(books.list()).items}
    for name, cache in caches.items():
        cached = {book.metadata.name: book for book in cache.store}
        assert cached == truth, name
        met = Counter(type(failure.outcome) for failure in cache.troubles)
        sys.stdout.write(
            f"{name}: {cache.events} events, {cache.snapshots} snapshots;"
            f" {', '.join(f'{count} x {kind.__name__}' for kind, count in met.items())}\n"
        )
        error_texts = {book.text for book in cache.troubles if isinstance(book.outcome, Garbled)}
        sys.stdout.write("".join(f"    {text}\n" for text in error_texts))
        # Otherwise the run would prove too little.
        assert met[Expired], "no version of this cache was compacted"
        assert met[TimedOut], "this cache did not detect the silence"


class Churn:
    """Run writers, failures and caches concurrently."""

    def __init__(self, server: RealServer, books: kp.Api[Book]) -> None:
        self.server = server
        self.books = books
        self.caches: dict[str, Cache] = {}
        self.writers: list[Writer] = []
        self.proxy = Proxy(server.port)

    async def run(self) -> None:
        """Run until every book is written, every failure has happened and all caches agree."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.proxy.serving())
            connection = replace(self.server.connection, server=f"https://127.0.0.1:{self.proxy.port}")
            for name, (make, settings) in CACHES.items():
                transport = await stack.enter_async_context(make(connection))
                self.caches[name] = Cache(Client(transport), self.books, settings=settings)
            transport = await stack.enter_async_context(TrioTransport(connection))
            for number in range(WRITERS):
                names = [f"book-{number}-{index}" for index in range(BOOKS // WRITERS)]
                self.writers.append(Writer(Client(transport), self.books, names, seed=number))
            async with trio.open_nursery() as following:
                for cache in self.caches.values():
                    following.start_soon(cache.run)
                async with trio.open_nursery() as writing:
                    for writer in self.writers:
                        writing.start_soon(writer.run)
                    writing.start_soon(self._cause_failures)
                await self._agree()
                following.cancel_scope.cancel()

    async def _cause_failures(self) -> None:
        """Cause the failures, evenly over the time of the writers."""
        failures = cycle(
            (
                self._compact,
                self._disconnect,
                self._crash,
                self._disconnect,
                self._disconnect_and_compact,
                self._compact,
            )
        )
        for number in range(1, FAILURE_COUNT + 1):
            changes = number * BOOKS * 2 // (FAILURE_COUNT + 2)
            while sum(writer.completed_writes for writer in self.writers) < changes:
                await trio.sleep(0.01)
            await next(failures)()
        # No later failure closes the silent connections: the caches must detect the silence.
        await self._silence()

    async def _compact(self) -> None:
        await trio.to_thread.run_sync(self.server.compact)

    async def _disconnect(self) -> None:
        self.proxy.disconnect()

    async def _crash(self) -> None:
        await trio.to_thread.run_sync(self.server.restart)

    async def _silence(self) -> None:
        """Silence the connections of all caches, and write meanwhile."""
        async with TrioTransport(self.server.connection) as transport:
            client = Client(transport)
            await client.call(self.books.create(book("before-silence")))
            # An open watch may be about to end.
            key = f"{self.books.namespace}/before-silence"
            while not all(cache.watching and key in cache.store for cache in self.caches.values()):
                await trio.sleep(0.01)
            self.proxy.freeze()
            await client.call(self.books.create(book("after-silence")))

    async def _disconnect_and_compact(self) -> None:
        """Disconnect, and compact writes before the caches return."""
        self.proxy.disconnect()
        await trio.to_thread.run_sync(self.server.compact)

    async def _agree(self) -> None:
        """Wait until the caches have the objects of the server, at the same versions."""
        async with TrioTransport(self.server.connection) as transport:
            page = (await Client(transport).call(self.books.list())).value
        truth = {
            f"{book.metadata.namespace}/{book.metadata.name}": book.metadata.resource_version for book in page
        }
        with trio.move_on_after(PATIENCE):
            while any(cache.snapshot() != truth for cache in self.caches.values()):
                await trio.sleep(0.05)
