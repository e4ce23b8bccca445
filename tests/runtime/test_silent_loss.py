"""What used to be lost without a word: the wrong cache, polls, predicates of finalizers, shards."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, Change, Rate, await_change
from kubeproto.kinds.core_v1 import ConfigMap, Namespace
from kubeproto.requests import Shard
from kubeproto_runtime import Client, Context, Controller, finalizer, predicates
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


async def while_it_runs(controller: Controller[Any, None], reconcile: Any, body: Callable[[], Any]) -> None:
    async with anyio.create_task_group() as tasks:

        async def operate() -> None:
            await controller.run(reconcile)

        tasks.start_soon(operate)
        await anyio.sleep(1)
        await body()
        tasks.cancel_scope.cancel()


class Seen:
    """A reconcile that writes down its keys, and which cache it finds for a kind."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.contexts: list[Context[Any]] = []

    async def __call__(self, subject: Any, ctx: Context[Any]) -> None:
        self.keys.append(ctx.key)
        self.contexts.append(ctx)


@pytest.mark.parametrize("other", ["all", "cluster-scoped"])
def test_a_dynamic_controller_in_a_namespace_reads_its_own_cache_beside_other_dynamic_sources(
    go: Go, other: str
) -> None:
    async def main() -> None:
        cluster, seen = library(), Seen()
        cluster.put(book("a"))
        kind = ConfigMap if other == "all" else Namespace
        async with simulated(cluster) as client:
            controller = Controller(client, kp.Dynamic, resource=Book.resource, namespace="default").watches(
                kp.Dynamic, lambda one: [], namespace=kp.ALL, resource=kind.resource
            )

            async def body() -> None:
                cluster.put(book("b"))
                await anyio.sleep(1)
                ctx = seen.contexts[0]
                assert ctx.cache(kp.Dynamic).resource == Book.resource
                assert ctx.cache(kp.Dynamic, kind.resource).resource == kind.resource

            await while_it_runs(controller, seen, body)
        assert seen.keys == ["default/a", "default/b"]

    go(main)


def test_a_controller_in_a_namespace_reads_its_own_cache_beside_the_same_kind_everywhere(go: Go) -> None:
    async def main() -> None:
        cluster, seen = library(), Seen()
        cluster.put(book("a"))
        async with simulated(cluster) as client:
            controller = Controller(client, Book, namespace="default").watches(
                Book, lambda one: ["default/a"], namespace=kp.ALL, label_selector="hub=yes"
            )

            async def body() -> None:
                ctx = seen.contexts[0]
                assert [one.metadata.name for one in ctx.cache(Book)] == ["a"]
                with pytest.raises(
                    kp.LocalProtocolError, match="does not follow ConfigMap in namespace default"
                ):
                    ctx.cache(ConfigMap)

            await while_it_runs(controller, seen, body)
        assert seen.keys == ["default/a"]

    go(main)


@pytest.mark.parametrize(
    "go", ["asyncio", pytest.param("trio", marks=pytest.mark.thorough("the same on the other loop"))],
    indirect=True,
)  # fmt: skip
@pytest.mark.parametrize("failure", ["none", "410", "rate"])
def test_following_that_is_polled_with_short_timeouts_hears_of_everything(go: Go, failure: str) -> None:
    async def main() -> None:
        cluster, names = library(), list[str]()
        rate = Rate(3.0) if failure == "rate" else None
        async with simulated(cluster) as client:
            limited = Client(client.transport, rate=rate, wall_clock=client.wall_clock, rng=client.random)
            followed = limited.api(Book).follow()
            before = 0
            for number in range(3600):
                if number % 360 == 100:
                    cluster.put(book(f"b{number}"))
                if failure == "410" and number % 360 == 90:
                    cluster.compact()
                with anyio.move_on_after(0.5):
                    match await anext(followed):
                        case kp.Added(obj):
                            names.append(obj.metadata.name)
                        case _:
                            pass
                if number % 360 == 359:
                    assert len(cluster.log) > before, "nothing was asked for in three minutes"
                    before = len(cluster.log)
            await followed.aclose()
        assert names == [f"b{number}" for number in range(100, 3600, 360)]

    go(main)


def test_a_page_that_was_cancelled_is_asked_for_again_and_no_list_ends_early(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for name in "abcd":
            cluster.put(book(name))
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            pages = client.api(Book).pages(limit=2)
            names = [one.metadata.name for one in (await anext(pages)).items]
            faults.script.append(sim.Delay(10.0))
            with anyio.move_on_after(1):
                await anext(pages)
            async for page in pages:
                names += [one.metadata.name for one in page.items]
        assert names == ["a", "b", "c", "d"]

    go(main)


def no_modifications(change: Change[Any]) -> bool:
    return change.type != "MODIFIED"


@pytest.mark.parametrize(
    "when",
    [
        predicates.generation,
        predicates.labels,
        predicates.changed("spec.pages"),
        no_modifications,
    ],
)
def test_a_finalizer_is_applied_and_cleaned_up_whatever_the_predicate_lets_pass(
    go: Go, when: Callable[..., bool]
) -> None:
    calls: list[str] = []

    async def main() -> None:
        cluster = library()

        async def apply(subject: Book, ctx: Context[None]) -> Action:
            assert subject.metadata.finalizers == ["example.com/shelf"]
            assert subject.spec.title == "Moby-Dick"
            calls.append("apply")
            return await_change()

        async def cleanup(subject: Book, ctx: Context[None]) -> None:
            calls.append("cleanup")

        async with simulated(cluster) as client:

            async def body() -> None:
                cluster.put(book("moby"))
                await anyio.sleep(1)
                await client.api(Book).delete("moby")
                await anyio.sleep(1)
                assert cluster.get(Book, "moby") is None

            reconcile = finalizer("example.com/shelf", apply=apply, cleanup=cleanup)
            await while_it_runs(Controller(client, Book, when=when), reconcile, body)

    go(main)
    assert calls == ["apply", "cleanup"]


class Old:
    """A server that does not know sharding: it ignores the selector."""

    def __init__(self, inner: kp.Transport) -> None:
        self.inner = inner

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **limits: Any) -> AsyncGenerator[kp.IncomingResponse]:
        target = re.sub(r"[?&]shardSelector=[^&]*", "", request.target)
        target = target if "?" in target else target.replace("&", "?", 1)
        async with self.inner.send(
            kp.RawRequest(request.method, target, request.headers, request.body), **limits
        ) as incoming:
            yield incoming


@pytest.mark.parametrize("old", [False, True])
def test_shards_divide_the_objects_on_a_server_that_does_not_know_them_too(go: Go, old: bool) -> None:
    async def main() -> None:
        cluster, followed, paged = library(), list[str](), list[str]()
        for number in range(5):
            cluster.put(book(f"b{number}"))
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            mine = Client(Old(client.transport)) if old else client

            async def follow(part: Shard) -> None:
                async for event in mine.api(Book).follow(shard_selector=part):
                    if isinstance(event, kp.Added):
                        followed.append(event.object.metadata.name)

            for index in range(2):
                part = Shard.of(index, 2)
                tasks.start_soon(follow, part)
                async for page in mine.api(Book).pages(limit=2, shard_selector=str(part)):
                    paged += [one.metadata.name for one in page.items]
            await anyio.sleep(1)
            for number in range(5, 10):
                cluster.put(book(f"b{number}"))
            await anyio.sleep(1)
            tasks.cancel_scope.cancel()
        assert sorted(followed) == [f"b{number}" for number in range(10)]
        assert sorted(paged) == [f"b{number}" for number in range(5)]

    go(main)
