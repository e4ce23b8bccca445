"""Caches that list at the same moment share a slice of the event loop, and other tasks have their turns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint
from virtual_time import Book, book

import kubeproto as kp
from kubeproto_runtime import Caches, Client

CACHES = 12
OBJECTS = 300
PIECE = 64 * 1024
SLICE = 128 * 1024  # what is decoded in one turn, and a piece may begin before it is full

LINES = [
    b'{"type":"ADDED","object":%b}\n'
    % kp.encode(kp.replace(book(f"book-{n}", title="x" * 1024), metadata=kp.ObjectMeta(
        name=f"book-{n}", namespace="default", uid=f"uid-{n}", resource_version=str(n + 1)
    )))
    for n in range(OBJECTS)
]  # fmt: skip
SYNCED = (
    b'{"type":"BOOKMARK","object":{"kind":"Book","apiVersion":"example.com/v1","metadata":{"resourceVersion":"900",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


class Endless:
    """A streaming list in pieces, all of which are there, and then silence."""

    status = 200
    headers = (("Content-Type", "application/json"),)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = b"".join([*LINES, SYNCED])
        for at in range(0, len(body), PIECE):
            yield body[at : at + PIECE]
        await anyio.sleep_forever()


class Streaming:
    """A transport whose every response is that."""

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Endless]:
        yield Endless()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_caches_that_list_at_once_let_other_tasks_have_their_turns(backend: str) -> None:
    taken = [0]  # bytes that were read in each turn of the other task

    def note(raw: bytes) -> bytes:
        taken[-1] += len(raw)
        return raw

    async def other() -> None:
        while True:
            taken.append(0)
            await checkpoint()

    async def main() -> None:
        async with Caches(Client(Streaming())) as caches, anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            listed = [caches.cache(Book, label_selector=f"shard={n}", transform=note) for n in range(CACHES)]
            for cache in listed:
                await cache.wait_synced()
            assert [len(cache) for cache in listed] == [OBJECTS] * CACHES
            tasks.cancel_scope.cancel()

    anyio.run(main, backend=backend)
    # A trio task may come first in one turn and last in the next: so there may be two slices between.
    assert max(taken) <= 2 * (SLICE + PIECE)
    assert sum(taken) > CACHES * OBJECTS * 1024
