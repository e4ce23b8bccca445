"""A smaller storm through sockets: the served simulator, the real transports, and a proxy between them.

    caches ───┐
    operator ─┼── transport ══ sockets ══ proxy ══ sockets ══ served cluster
    user ─────┘

The seed determines the faults of the proxy for each connection, by its number: it closes the connection after
some bytes, ends a response early as if it were complete, delays chunks, or sends a request twice, as retrying
proxies do. The scheduling of the kernel also matters, so a seed does not repeat a run exactly. After the user
has written enough, the proxy causes no more faults, and all programs must reach the state of the server.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream, SocketAttribute
from msgspec import Struct
from sniffio import current_async_library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import Connection
from kubeproto.control import owner_reference
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Action, Caches, Client, Context, Controller, Operator, await_change
from kubeproto_runtime.caches import Cache
from kubeproto_serve import serve

from .kinds import NAMESPACES, Book, BookSpec, new_cluster
from .plan import Backend

WRITES: Final = 60
LIVENESS: Final = 60.0  # seconds of real time from the last fault to the state of the server
FAULTS: Final = ("cut", "truncated", "delayed", "sent twice")


class Stack(NamedTuple):
    """A transport, and its event loop."""

    label: str
    backend: Backend
    module: str
    name: str


STACKS: Final = (
    Stack("asyncio", "asyncio", "kubeproto_asyncio", "AsyncioTransport"),
    Stack("trio", "trio", "kubeproto_trio", "TrioTransport"),
    Stack("httpx", "asyncio", "kubeproto_httpx", "HttpxTransport"),
)


class SocketOutcome(Struct, frozen=True):
    """The result of a run through sockets."""

    violations: tuple[str, ...]
    counts: dict[str, int]
    connections: int
    written: int
    seconds: float


class Proxy:
    """Between clients and a server: unfaithful as the seed says, until it is `calm`."""

    def __init__(self, seed: int, port: int) -> None:
        self.calm = False
        self.counts: Counter[str] = Counter()
        self.connections = 0
        self.open = 0
        self._seed = seed
        self._port = port
        self._unfaithful: set[anyio.CancelScope] = set()

    def be_calm(self) -> None:
        """Pass on everything from now on; connections with a pending fault are closed."""
        self.calm = True
        for scope in list(self._unfaithful):
            scope.cancel()

    async def handle(self, client: ByteStream) -> None:
        """Serve one connection."""
        self.connections += 1
        rng = Random(f"{self._seed} {self.connections}")
        fault = "" if self.calm or rng.random() < 0.1 else rng.choice(FAULTS)
        self.open += 1
        scope = anyio.CancelScope()
        if fault:
            self._unfaithful.add(scope)
        try:
            with scope:
                async with (
                    client,
                    await anyio.connect_tcp("127.0.0.1", self._port) as server,
                    anyio.create_task_group() as tasks,
                ):
                    tasks.start_soon(self._pass_requests, client, server, fault, tasks.cancel_scope)
                    await self._pass_responses(server, client, fault, rng)
                    tasks.cancel_scope.cancel()
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, ExceptionGroup):
            pass  # one side has disconnected
        finally:
            self._unfaithful.discard(scope)
            self.open -= 1

    async def _pass_requests(
        self, client: ByteStream, server: ByteStream, fault: str, scope: anyio.CancelScope
    ) -> None:
        async for chunk in client:
            await server.send(chunk)
            if fault == "sent twice" and not self.calm:
                fault = ""
                self.counts["sent twice"] += 1
                await server.send(chunk)
        scope.cancel()

    async def _pass_responses(self, server: ByteStream, client: ByteStream, fault: str, rng: Random) -> None:
        remaining = rng.randrange(1 << rng.randrange(13)) if fault in ("cut", "truncated") else -1
        async for chunk in server:
            if fault == "delayed" and not self.calm:
                self.counts["delayed"] += 1
                await anyio.sleep(rng.random() * 0.05)
            if 0 <= remaining <= len(chunk):
                self.counts[fault] += 1
                await client.send(chunk[:remaining])
                if fault == "truncated":
                    await client.send_eof()
                    await anyio.sleep(rng.random() * 0.1)
                return
            await client.send(chunk)
            remaining -= len(chunk) if remaining >= 0 else 0


@asynccontextmanager
async def proxied(seed: int, url: str) -> AsyncGenerator[tuple[Proxy, str]]:
    """Run a proxy in front of a server."""
    port = urlsplit(url).port
    assert port is not None
    proxy = Proxy(seed, port)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(listener.serve, proxy.handle))
        yield proxy, f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()


def play_sockets(seed: int, stack: Stack, *, liveness: float = LIVENESS) -> SocketOutcome:
    """Run over real sockets, in real time."""
    return anyio.run(_Run(seed, stack, liveness).play, backend=stack.backend)


class _Run:
    def __init__(self, seed: int, stack: Stack, liveness: float) -> None:
        self.liveness = liveness
        self.rng = Random(seed)
        self.seed = seed
        self.stack = stack
        self.violations: list[str] = []
        self.history: set[tuple[str, str]] = set()
        self.acknowledged: list[tuple[str, str]] = []
        self.caches: list[Cache[Any]] = []

    async def play(self) -> SocketOutcome:
        began = time.monotonic()
        initial_tasks = alive()
        cluster = new_cluster(sim.Modes(), 10_000, 0.5, self.seed)
        cluster.on_change = lambda obj: self.history.add((obj.key, str(obj.version)))
        async with serve(cluster) as url, proxied(self.seed, url) as (proxy, through):
            opener: Callable[[Connection], Any] = getattr(
                importlib.import_module(self.stack.module), self.stack.name
            )
            async with opener(Connection(server=through)) as transport:
                client = Client(transport, namespace="default", rng=Random(self.seed))
                await self._programs(client, cluster, proxy)
            await self._until(lambda: not proxy.open, "connections are open after the transport was closed")
        if (remaining_tasks := alive() - initial_tasks) > 0:
            self.violations.append(f"{remaining_tasks} tasks are left after the end")
        return SocketOutcome(
            tuple(self.violations), dict(proxy.counts), proxy.connections, len(self.acknowledged),
            time.monotonic() - began,
        )  # fmt: skip

    async def _programs(self, client: Client, cluster: sim.Cluster, proxy: Proxy) -> None:
        operator = Operator(grace=5.0)
        async with Caches(client) as caches, anyio.create_task_group() as tasks:
            self.caches += [caches.cache(Book, namespace=kp.ALL), caches.cache(ConfigMap, namespace="other")]
            controller = Controller(client, Book, concurrency=2, timeout=20.0).owns(ConfigMap)
            tasks.start_soon(partial(_await, operator.run(controller.run(self._label))))
            for _ in range(WRITES):
                await self._write(client)
            proxy.be_calm()
            await self._until(lambda: not self._missing(cluster), lambda: "; ".join(self._missing(cluster)))
            operator.stop()
        for key, version in self.acknowledged:
            if (key, version) not in self.history:
                self.violations.append(f"a write of {key} was acknowledged at {version}: it never was")

    async def _until(self, condition: Callable[[], bool], description: str | Callable[[], str]) -> None:
        with anyio.move_on_after(self.liveness):
            while not condition():
                await anyio.sleep(0.02)
            return
        missing = description if isinstance(description, str) else description()
        self.violations.append(f"{self.liveness:g} s after the last fault: {missing}")

    async def _write(self, client: Client) -> None:
        rng = self.rng
        api = client.api(Book, namespace=rng.choice(NAMESPACES))
        name, title = f"b{rng.randrange(6)}", f"title {rng.randrange(1000)}"
        try:
            with anyio.move_on_after(10):
                match rng.randrange(5):
                    case 0 | 1:
                        metadata = kp.ObjectMeta(name=name)
                        book = await api.create(Book(metadata=metadata, spec=BookSpec(title=title)))
                    case 2 | 3:
                        book = await api.merge_patch(name, {"spec": {"title": title}})
                    case _:
                        await api.delete(name)
                        return
                meta = book.metadata
                self.acknowledged.append((f"{meta.namespace}/{meta.name}", meta.resource_version))
        except kp.KubeprotoError:
            pass  # refused or unknown: only acknowledged writes are checked

    async def _label(self, book: Book, ctx: Context[None]) -> Action:
        child = ctx.cache(ConfigMap).get(ctx.name, ctx.namespace)
        desired = {"title": book.spec.title}
        if child is None or child.data != desired:
            metadata = kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(book)])
            api = ctx.client.api(ConfigMap, namespace=ctx.namespace)
            await api.apply(ConfigMap(metadata=metadata, data=desired), field_manager="storm", force=True)
        return await_change()

    def _missing(self, cluster: sim.Cluster) -> list[str]:
        """Return the differences from the state of the server, and from that of the operator."""
        missing: list[str] = []
        for cache in self.caches:
            stored = {
                f"{obj['metadata']['namespace']}/{obj['metadata']['name']}": obj["metadata"][
                    "resourceVersion"
                ]
                for obj in cluster.objects(cache.kind)
                if cache.namespace in (kp.ALL, obj["metadata"]["namespace"])
            }
            keys = cache.keys() if cache.synced else []
            cached_versions = {key: entry.version for key in keys if (entry := cache.entry(key))}
            if cached_versions != stored:
                missing.append(f"{cache!r} shows {cached_versions}, and the server has {stored}")
        children = {_key(obj): obj["data"] for obj in cluster.objects(ConfigMap) if "data" in obj}
        for book in cluster.objects(Book):
            if children.get(_key(book)) != {"title": book["spec"]["title"]}:
                missing.append(f"book {_key(book)} has no ConfigMap of its title")
        return missing


def alive() -> int:
    """Return the number of tasks."""
    if current_async_library() == "trio":
        import trio

        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


async def _await(work: Awaitable[object]) -> None:
    await work


def _key(obj: dict[str, Any]) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
