"""Long lists as iterators: what ends them early, and that nothing is asked for ahead or left behind."""

from __future__ import annotations

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto_sim as sim
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def shelf(count: int) -> sim.Cluster:
    cluster = library()
    for number in range(count):
        cluster.put(book(f"b{number}"))
    return cluster


def lists(cluster: sim.Cluster) -> int:
    return sum("limit=" in one.request.target for one in cluster.log)


def test_pg_11_an_error_in_the_loop_ends_it_and_nothing_more_is_asked_for(go: Go) -> None:
    async def main() -> None:
        cluster = shelf(6)
        async with simulated(cluster) as client:
            seen: list[str] = []

            async def read() -> None:
                async for one in client.api(Book).items(limit=2):
                    seen.append(one.metadata.name)
                    if len(seen) == 3:
                        raise LookupError(one.metadata.name)

            with pytest.raises(LookupError, match="b2"):
                await read()
            await anyio.sleep(60)
            assert (seen, lists(cluster)) == (["b0", "b1", "b2"], 2)

    go(main)


def test_pg_12_pg_13_a_list_that_is_cancelled_or_left_leaves_nothing_behind(go: Go) -> None:
    async def main() -> None:
        cluster = shelf(6)
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            pages = client.api(Book).pages(limit=2)
            await anext(pages)
            faults.script.append(sim.Delay(30))
            with anyio.move_on_after(10) as scope:
                await anext(pages)
            assert scope.cancelled_caught
            assert anyio.current_time() == 10
            async for _ in client.api(Book).pages(limit=2):
                break
            await anyio.sleep(60)
            assert lists(cluster) == 3

    go(main)


def test_pg_15_no_page_is_asked_for_before_the_one_before_is_used_up(go: Go) -> None:
    async def main() -> None:
        cluster = shelf(6)
        async with simulated(cluster) as client:
            asked: list[int] = []
            async for _ in client.api(Book).items(limit=2):
                await anyio.sleep(10)
                asked.append(lists(cluster))
            assert asked == [1, 1, 2, 2, 3, 3]

    go(main)
