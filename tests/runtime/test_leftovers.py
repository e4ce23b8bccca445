"""What is gone leaves nothing behind, and what is much comes in pieces."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, Change, requeue
from kubeproto_runtime import Caches, Context, Controller, Operator, Terminal
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def of(operator: Operator, name: str = "book") -> Any:
    return operator._controllers[name]


def no_deletions(change: Change[Any]) -> bool:
    return change.type != "DELETED"


async def fails(subject: Book, ctx: Context[None]) -> None:
    raise LookupError(ctx.key)


async def gives_up(subject: Book, ctx: Context[None]) -> None:
    raise LookupError(ctx.key) if ctx.attempt < 3 else Terminal(ctx.key)


async def asks_for_more(subject: Book, ctx: Context[None]) -> Action:
    return requeue(after=3600)


async def takes_long(subject: Book, ctx: Context[None]) -> Action:
    await anyio.sleep(2)
    return requeue(after=3600)


async def fails_late(subject: Book, ctx: Context[None]) -> None:
    await anyio.sleep(2)
    raise LookupError(ctx.key)


@pytest.mark.parametrize("reconcile", [fails, gives_up, asks_for_more, takes_long, fails_late])
@pytest.mark.parametrize("when", [None, no_deletions])
def test_of_an_object_that_is_deleted_a_controller_keeps_nothing(
    go: Go, reconcile: Any, when: Callable[[Change[Any]], bool] | None
) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            operator = Operator()
            # With an attempt that is far away, the key must not merely go by itself when its time comes.
            wait = 3600.0 if reconcile is fails_late else 0.01
            slow: dict[str, Any] = {"backoff": partial(max, wait)}
            options: Any = slow if when is None else slow | {"when": when}
            tasks.start_soon(operator.run, Controller(client, Book, **options).run(reconcile))
            await anyio.sleep(1)
            cluster.remove(Book, "a")
            await anyio.sleep(5)
            queue = of(operator).queue
            assert ("default/a" in queue, queue.failures("default/a")) == (False, 0)
            assert queue.next_at(anyio.current_time()) is None
            operator.stop()

    go(main)


def test_an_index_lists_no_failure_of_an_object_that_is_gone(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))

        def broken(one: Book) -> list[str]:
            raise ZeroDivisionError(one.metadata.name)

        async with simulated(cluster) as client, Caches(client) as caches:
            cache = caches.cache(Book)
            cache.add_index("shelf", broken)
            await cache.wait_synced()
            assert list(cache.failed_in("shelf")) == ["default/a"]
            cache.view(shelf="top").listen(lambda _: None)  # it looks at the object that is gone as well
            cluster.remove(Book, "a")
            await anyio.sleep(1)
            assert cache.failed_in("shelf") == {}

    go(main)


def test_operators_that_share_a_client_count_their_own_requests(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))

        def writing(times: int) -> Any:
            async def reconcile(subject: Book, ctx: Context[None]) -> None:
                for _ in range(times):
                    await client.api(Book).merge_patch("a", {"metadata": {"labels": {"x": "y"}}})
                await anyio.sleep(3600)

            return reconcile

        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            operators = [Operator(grace=0), Operator(grace=0)]
            for times, operator in enumerate(operators, 1):
                tasks.start_soon(operator.run, Controller(client, Book).run(writing(times)))
            await anyio.sleep(1)
            for times, operator in enumerate(operators, 1):
                assert f'code="200",host="",method="PATCH"}} {times}\n' in operator.metrics()
            for operator in operators:
                operator.stop()

    go(main)


def test_a_long_first_list_reaches_the_queue_a_thousand_objects_at_a_time(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for number in range(3500):
            cluster.put(book(f"b{number}"))
        taken: dict[int, int] = {}
        steps = 0

        async def count_steps() -> None:
            nonlocal steps
            while True:
                steps += 1
                await checkpoint()

        def when(change: Change[Any]) -> bool:
            taken[steps] = taken.get(steps, 0) + 1
            return True

        seen: list[str] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> None:
            seen.append(ctx.name)

        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(count_steps)
            operator = Operator()
            tasks.start_soon(operator.run, Controller(client, Book, when=when).run(reconcile))
            while len(seen) < 3500:
                await checkpoint()
            tasks.cancel_scope.cancel()
        assert sum(taken.values()) == 3500
        # On trio, tasks take their turns in any order: two pieces may come between two counts.
        assert max(taken.values()) <= 2000
        assert sorted(seen) == sorted(f"b{number}" for number in range(3500))

    go(main)


def test_a_half_open_stream_is_silent_although_bookmarks_wake_its_reader(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        faults = sim.Faults(cluster, script=[sim.HalfOpen(0)])
        async with simulated(cluster, faults=faults) as client:
            begun = anyio.current_time()
            request = client.requests(Book).watch(timeout_seconds=3600)

            async def read() -> None:
                async with client.open(request, idle=75.0) as stream:
                    async for _ in stream:
                        pass

            with pytest.raises(kp.DeadlineExceeded):
                await read()
            assert 75 <= anyio.current_time() - begun < 80

    go(main)
