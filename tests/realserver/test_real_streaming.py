"""Streaming lists on every release, also behind an alpha gate: a restart costs seconds.

A server of 1.30 ends a streaming list with a 504 while its watch cache lags after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.watching import resync
from kubeproto_runtime import Client
from kubeproto_trio import TrioTransport
from realserver import RealServer

from ._real_asking import asking
from ._real_cache import Book, Cache, book

BOOKS: Final = 300
ROUNDS: Final = 4
PATIENCE: Final = 30.0  # seconds after a restart; caches give a server 120 by default


def test_a_streaming_list_is_repeated_soon_after_a_restart(
    start_real_server: Callable[..., RealServer],
) -> None:
    with start_real_server(flags=("--feature-gates=WatchList=true",)) as server:
        with asking(server.connection) as asker:
            asker.define(definition_of(Book))
            books = kp.Api(Book, namespace=asker.namespace("cut"))
            for number in range(BOOKS):
                asker.ask(books.create(book(f"book-{number}")))
        for _ in range(ROUNDS):
            trio.run(_sync_across_a_restart, server, books)


async def _sync_across_a_restart(server: RealServer, books: kp.Api[Book]) -> None:
    started = trio.Event()
    async with TrioTransport(server.connection) as transport:
        # Only a streaming list stages objects before all of them were sent.
        cache = Cache(Client(transport), books, settings=resync.Settings(), staged=started.set)
        async with trio.open_nursery() as following:
            following.start_soon(cache.run)
            await started.wait()
            await trio.to_thread.run_sync(server.restart)
            with trio.fail_after(PATIENCE):
                while not (cache.watching and len(cache.snapshot()) == BOOKS):
                    await trio.sleep(0.05)
            following.cancel_scope.cancel()
