"""A server of prepared objects in this process, which lists them in pages or streams them, and is then
silent.

It delivers 64 KiB at a time, as a busy socket does, and its own cost is negligible.
"""

import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio

from benchmarks._data import list_page, segments
from benchmarks._pods import go_json
from kubeproto import KubeObject
from kubeproto.watching import resync
from kubeproto.wire import Headers, RawRequest
from kubeproto_runtime import Caches, Client, Controller, Operator
from kubeproto_runtime.caches import Cache

PAGES: Final = 10  # of a list: more requests at once would wait for each other
_JSON: Final[Headers] = (("Content-Type", "application/json"),)
_END: Final = (
    b'{"type":"BOOKMARK","object":{"kind":"%b","apiVersion":"%b","metadata":{"resourceVersion":"900000000",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


class Incoming:
    """A response in pieces; a `silent` response stays open after them."""

    def __init__(self, pieces: Sequence[bytes], *, silent: bool) -> None:
        self.status = 200
        self.headers = _JSON
        self._pieces = pieces
        self._silent = silent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._pieces:
            yield chunk
        if self._silent:
            await anyio.sleep_forever()


class Server:
    """A transport with prepared responses."""

    def __init__(self, objects: Sequence[bytes], kind: tuple[bytes, bytes], *, streams: bool = False) -> None:
        size = -(-len(objects) // PAGES)
        parts = [objects[start : start + size] for start in range(0, len(objects), size)]
        bodies = [list_page(part, more=len(objects)) for part in parts[:-1]] + [list_page(parts[-1])]
        bodies = [
            body.replace(b'"continue":"', b'"continue":"%d' % start) for start, body in enumerate(bodies)
        ]
        self._pages = [segments(body) for body in bodies]
        self._page = 0
        events = [b'{"type":"ADDED","object":%b}\n' % each for each in objects] if streams else []
        self._stream = segments(b"".join([*events, _END % kind]))

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Incoming]:
        query = parse_qs(urlsplit(request.target).query)
        if "sendInitialEvents" in query:
            yield Incoming(self._stream, silent=True)
        elif "watch" in query:
            yield Incoming((), silent=True)
        else:
            self._page = self._page + 1 if "continue" in query else 0
            yield Incoming(self._pages[self._page], silent=False)


async def fill_cache(server: Server, kind: type[KubeObject], **options: Any) -> Cache[Any]:
    """Fill a cache from the server, and stop following."""
    async with Caches(Client(server)) as caches:
        cache: Cache[Any] = caches.cache(kind, **options)
        await cache.wait_synced()
    return cache


def list_into_cache(
    objects: Sequence[bytes], kind: type[KubeObject], **options: Any
) -> Callable[[], Cache[Any]]:
    """Return a function that lists the objects in pages and returns the filled cache."""
    server = Server(objects, (b"", b""))
    settings = resync.Settings(streaming=False)

    async def main() -> Cache[Any]:
        return await fill_cache(server, kind, settings=settings, **options)

    return lambda: anyio.run(main)


def measure_relist(
    objects: Sequence[bytes], kind: type[KubeObject], *, caches: int = 1
) -> tuple[float, float]:
    """Stream an equal snapshot, and return its duration and the longest wait of other tasks.

    With several `caches` each has all objects, behind its own selector, and all of them start at once. Both
    results are CPU seconds of this thread, which a busy machine does not prolong.
    """

    async def main() -> tuple[float, float]:
        resource = kind.resource
        server = Server(objects, (resource.kind.encode(), resource.api_version.encode()), streams=True)
        other, notifications, took, previous_versions = WaitingTask(), list[Any](), 0.0, 0
        async with Caches(Client(server)) as shared_caches, anyio.create_task_group() as tasks:
            some: list[Cache[Any]] = [shared_caches.cache(kind)]
            some += [
                shared_caches.cache(kind, label_selector=f"shard={number}") for number in range(1, caches)
            ]
            for cache in some:
                await cache.wait_synced()
                cache.listen(notifications.append)
            notifications.clear()
            tasks.start_soon(other.run)
            await anyio.sleep(0.01)
            started, versions = time.thread_time(), [cache.sync_status.received_at for cache in some]
            other.longest = 0.0
            for cache in some:
                cache.refresh()
            for cache, version in zip(some, versions, strict=True):
                while not (cache.sync_status.live and cache.sync_status.received_at != version):
                    await anyio.sleep(0)
            took, previous_versions = time.thread_time() - started, sum(map(len, some))
            tasks.cancel_scope.cancel()
        if notifications or previous_versions != caches * len(objects):
            raise ValueError("an unchanged snapshot was reported: the results would mean nothing")
        return took, other.longest

    return anyio.run(main)


def measure_first_list(objects: Sequence[bytes], kind: type[KubeObject]) -> float:
    """Return the longest wait of other tasks during a first list, up to the runs of a controller.

    The result is in CPU seconds of this thread.
    """

    async def main() -> float:
        resource = kind.resource
        server = Server(objects, (resource.kind.encode(), resource.api_version.encode()), streams=True)
        other, runs = WaitingTask(), 0

        async def reconcile(subject: object, ctx: object) -> None:
            nonlocal runs
            runs += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other.run)
            await anyio.sleep(0.01)
            other.longest = 0.0
            operator = Operator()
            tasks.start_soon(operator.run, Controller(Client(server), kind).run(reconcile))
            while runs < len(objects):
                await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        return other.longest

    return anyio.run(main)


class WaitingTask:
    """A task that measures how long it waits."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        cpu_start = time.thread_time()
        while True:
            await anyio.sleep(0)
            now = time.thread_time()
            self.longest = max(self.longest, now - cpu_start)
            cpu_start = now


def metadata_of(objects: Sequence[bytes]) -> list[bytes]:
    """Return the objects in the form in which a server sends only their metadata."""
    kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return [go_json(kind | {"metadata": json.loads(each)["metadata"]}) for each in objects]
