"""The driver of the resync machine: interrupted at any moment, and exact after any trouble."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from asked_examples import examples
from hypothesis import HealthCheck, given, settings, strategies as st
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import CredentialsError
from kubeproto.control import Change, Store
from kubeproto.watching import resync
from kubeproto.wire import Outcome
from kubeproto_runtime import Caches, Client
from kubeproto_runtime.caches._reflector import Reflector
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated
from kubeproto_runtime.watching import ResyncDriver

__all__ = ["go"]


class Sink:
    """Keeps a cache, and what was reported."""

    def __init__(self) -> None:
        self.store = Store(Book)
        self.troubles: list[resync.SyncFailure] = []
        self.abandoned: list[Outcome] = []

    def stage(self, items: list[Any]) -> None:
        self.store.stage(items)

    def update(self, events: list[Any]) -> None:
        self.store.update(events)

    def replace(self, version: str) -> None:
        self.store.replace(version)

    def discard(self) -> None:
        self.store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        self.troubles.append(failure)

    def abandon(self, outcome: Outcome) -> None:
        self.abandoned.append(outcome)


def following(client: Client, sink: Sink, **options: Any) -> ResyncDriver[Book]:
    return ResyncDriver(client, client.requests(Book, namespace=kp.ALL), sink, **options)


def test_a_following_that_was_cancelled_goes_on_where_it_was(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        sink = Sink()
        async with simulated(cluster) as client:
            follows = following(client, sink)
            for name in ("b", "c", "d"):
                with anyio.move_on_after(10):
                    await follows.run()
                assert isinstance(follows.state, resync.Idle)
                assert cluster.watches == []
                cluster.put(book(name))
            with anyio.move_on_after(10):
                await follows.run()
        assert len(sink.store) == 4
        lists = [one for one in cluster.log if "sendInitialEvents" in one.request.target]
        assert (len(lists), sink.troubles) == (1, [])

    go(main)


@pytest.mark.parametrize("streaming", [True, False])
def test_refresh_at_any_moment_relists_once(go: Go, streaming: bool) -> None:
    async def main(moment: float) -> None:
        cluster = library()
        for number in range(5):
            cluster.put(book(f"b{number}"))
        sink = Sink()
        faults = sim.Faults(cluster, script=[sim.Delay(1.0)] * 8)
        plan = resync.Settings(streaming=streaming, page_size=2)
        async with simulated(cluster, faults=faults) as client, anyio.create_task_group() as tasks:
            follows = following(client, sink, settings=plan)
            tasks.start_soon(follows.run)
            await anyio.sleep(moment)
            follows.refresh()
            cluster.put(book("late"))
            await anyio.sleep(60)
            assert (len(sink.store), follows.sync_status.live, sink.troubles) == (6, True, [])
            tasks.cancel_scope.cancel()

    for tenths in range(0, 120, 3):
        go(partial(main, tenths / 10))


class Gated:
    """A transport whose chunks wait at a gate, and whose answers take a second to close."""

    def __init__(self, within: kp.Transport) -> None:
        self.within = within
        self.gate = anyio.Event()
        self.gate.set()

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **options: Any) -> AsyncGenerator[kp.IncomingResponse]:
        async with self.within.send(request, **options) as incoming:
            try:
                yield Held(self, incoming)
            finally:
                await anyio.sleep(1)


class Held:
    def __init__(self, transport: Gated, incoming: kp.IncomingResponse) -> None:
        self.status, self.headers = incoming.status, incoming.headers
        self.transport = transport
        self.chunks: Any = aiter(incoming)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk: bytes = await anext(self.chunks)
        await self.transport.gate.wait()
        return chunk


def test_a_chunk_that_comes_in_the_moment_of_a_refresh_is_dropped(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        sink = Sink()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            client.transport = gated = Gated(client.transport)
            follows = following(client, sink)
            tasks.start_soon(follows.run)
            await anyio.sleep(5)
            gated.gate = anyio.Event()
            cluster.put(book("a"))
            await anyio.sleep(1)
            gated.gate.set()
            follows.refresh()
            await anyio.sleep(10)
            assert (len(sink.store), follows.sync_status.live, sink.troubles) == (1, True, [])
            tasks.cancel_scope.cancel()

    go(main)


def test_a_refresh_while_a_response_closes_makes_its_end_void(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        sink = Sink()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            client.transport = Gated(client.transport)
            follows = following(client, sink)
            tasks.start_soon(follows.run)
            await anyio.sleep(5)
            cluster.end_watches()
            await anyio.sleep(0.5)
            follows.refresh()
            cluster.put(book("a"))
            await anyio.sleep(10)
            assert (len(sink.store), follows.sync_status.live, sink.troubles) == (1, True, [])
            tasks.cancel_scope.cancel()

    go(main)


def test_stop_ends_it_at_once_and_for_good(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            follows = following(client, Sink())
            tasks.start_soon(follows.run)
            await anyio.sleep(5)
            with pytest.raises(RuntimeError, match="running already"):
                await follows.run()
            follows.stop()
            await anyio.sleep(0)
            await anyio.sleep(0.001)
            assert (cluster.watches, follows.sync_status.live) == ([], False)
            await follows.run()
            follows.refresh()

    go(main)


def test_one_that_only_follows_says_when_its_version_is_gone(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        old = str(cluster.version)
        cluster.put(book("b"))
        cluster.compact()
        sink = Sink()
        async with simulated(cluster) as client:
            await following(client, sink, settings=resync.Settings(follow=True), version=old).run()
        assert len(sink.abandoned) == 1

    go(main)


def test_credentials_that_fail_are_trouble_and_no_crash(go: Go) -> None:
    class Unsure:
        """Has no credentials at first."""

        def __init__(self, within: kp.Transport) -> None:
            self.within = within
            self.failures = 2

        def send(self, *args: Any, **options: Any) -> Any:
            if self.failures:
                self.failures -= 1
                raise CredentialsError("the plugin fails")
            return self.within.send(*args, **options)

    async def main() -> None:
        sink = Sink()
        async with simulated(library()) as client:
            client.transport = Unsure(client.transport)
            with anyio.move_on_after(60):
                await following(client, sink).run()
        assert [failure.text for failure in sink.troubles] == ["the plugin fails"] * 2
        assert sink.store.version

    go(main)


def test_an_error_of_the_sink_is_no_trouble_of_the_server_s(go: Go) -> None:
    class Broken(Sink):
        def replace(self, version: str) -> None:
            raise LookupError("mine")

    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            with pytest.raises(LookupError):
                await following(client, Broken()).run()
        assert cluster.watches == []

    go(main)


def test_reached_counts_a_snapshot_that_is_older_than_the_last(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            api = client.requests(Book)
            reflector = Reflector(client, api, Store(Book), settings=resync.Settings(), selection={})
            reflector.stage([])
            reflector.replace("50")
            async with anyio.create_task_group() as tasks:
                done: list[str] = []

                async def wait(version: str) -> None:
                    await reflector.reached(version, timeout=100)
                    done.append(version)

                for version in ("50", "60", "opaque"):
                    tasks.start_soon(wait, version)
                await anyio.sleep(1)
                assert done == ["50"]
                reflector.update([kp.Bookmark("55")])
                await anyio.sleep(1)
                assert done == ["50"]
                reflector.stage([])
                reflector.replace("40")
                await anyio.sleep(1)
                assert done == ["50", "60"]
                with pytest.raises(kp.DeadlineExceeded):
                    await reflector.reached("55", timeout=1)  # it may be given to a write that is yet to come
                one = book("a")
                one.metadata.resource_version = "opaque"
                reflector.update([kp.Added(one), kp.Bookmark("42")])
                await anyio.sleep(1)
                assert done == ["50", "60", "opaque"]
                await reflector.reached("opaque", timeout=1)

    go(main)


def test_a_server_that_is_set_back_is_followed(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        backup = cluster.fork()
        cluster.put(book("b"))
        cluster.put(book("d"))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            got: list[Change[Book]] = []
            books.listen(got.extend)
            backup.put(book("c"))
            async with simulated(backup) as other:
                client.transport = other.transport
                cluster.end_watches()
                with anyio.fail_after(3600):
                    while books.keys() != ["default/a", "default/c"]:
                        await anyio.sleep(1)
                assert "default/b" in [change.key for change in got if change.type == "DELETED"]
                caches.drop(books)

    go(main)


Action = tuple[str, int]


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    actions=st.lists(
        st.tuples(
            st.sampled_from(["put", "remove", "compact", "end", "refresh", "sleep"]), st.integers(0, 4)
        ),
        max_size=40,
    ),
    seed=st.integers(0, 2**16),
    streaming=st.booleans(),
)
def test_the_cache_equals_the_cluster_after_any_trouble(
    backend: Backend, actions: list[Action], seed: int, streaming: bool
) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book], window=10, seed=seed)
        faults = sim.Faults(cluster, seed=seed, share=0.3)
        plan = resync.Settings(streaming=streaming, page_size=2)
        async with simulated(cluster, faults=faults, seed=seed) as client, Caches(client) as caches:
            books = caches.cache(Book, settings=plan)
            told: dict[str, bytes] = {}

            def listen(changes: list[Change[Book]]) -> None:
                for change in changes:
                    if change.type == "DELETED":
                        del told[change.key]
                    else:
                        assert change.new is not None
                        assert (change.key in told) is (change.type == "MODIFIED")
                        told[change.key] = change.new.raw
                snapshot = {key: books.entry(key) for key in books.keys()}  # noqa: SIM118 # a cache is not a dict
                assert told == {key: entry.raw for key, entry in snapshot.items() if entry}

            books.listen(listen)
            for action, number in actions:
                match action:
                    case "put":
                        cluster.put(book(f"b{number}", title=str(cluster.version)))
                    case "remove" if cluster.get(Book, f"b{number}") is not None:
                        cluster.remove(Book, f"b{number}")
                    case "compact":
                        cluster.compact()
                    case "end":
                        cluster.end_watches()
                    case "refresh":
                        books.refresh()
                    case _:
                        await anyio.sleep(number**3)
            faults.calm()
            with anyio.fail_after(3600):
                await books.wait_synced()
                await books.reached(str(cluster.version))
            here = {one.metadata.name: one.metadata.resource_version for one in books}
            there = [one["metadata"] for one in cluster.objects(Book)]
            assert here == {meta["name"]: meta["resourceVersion"] for meta in there}

    run(main, backend=backend)
