"""Caches that list concurrently share a slice of the event loop, so that other tasks run between slices."""

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
CHUNK = 64 * 1024
SLICE = 128 * 1024  # bytes that are decoded in a turn; the last chunk may exceed it

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


class EndlessResponse:
    """A streaming list whose chunks are all available, followed by silence."""

    status = 200
    headers = (("Content-Type", "application/json"),)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = b"".join([*LINES, SYNCED])
        for start in range(0, len(body), CHUNK):
            yield body[start : start + CHUNK]
        await anyio.sleep_forever()


class StreamingTransport:
    """A transport whose responses are all `EndlessResponse`s."""

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[EndlessResponse]:
        yield EndlessResponse()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_other_tasks_run_while_many_caches_list(backend: str) -> None:
    bytes_per_turn = [0]  # decoded between two turns of the other task

    def count_bytes(raw: bytes) -> bytes:
        bytes_per_turn[-1] += len(raw)
        return raw

    async def run_other_task() -> None:
        while True:
            bytes_per_turn.append(0)
            await checkpoint()

    async def main() -> None:
        async with Caches(Client(StreamingTransport())) as caches, anyio.create_task_group() as tasks:
            tasks.start_soon(run_other_task)
            all_caches = [
                caches.cache(Book, label_selector=f"shard={n}", transform=count_bytes) for n in range(CACHES)
            ]
            for cache in all_caches:
                await cache.wait_synced()
            assert [len(cache) for cache in all_caches] == [OBJECTS] * CACHES
            tasks.cancel_scope.cancel()

    anyio.run(main, backend=backend)
    # A trio task may run first in a turn and last in the next turn, with two slices between them.
    assert max(bytes_per_turn) <= 2 * (SLICE + CHUNK)
    assert sum(bytes_per_turn) > CACHES * OBJECTS * 1024
