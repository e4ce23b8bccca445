"""Long lists as iterators: early exits, cancellation, and requests that are sent only when needed."""

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


def count_lists(cluster: sim.Cluster) -> int:
    return sum("limit=" in entry.request.target for entry in cluster.log)


def test_pg_11_after_an_error_in_the_loop_no_page_is_requested(go: Go) -> None:
    async def main() -> None:
        cluster = shelf(6)
        async with simulated(cluster) as client:
            names: list[str] = []

            async def read() -> None:
                async for obj in client.api(Book).items(limit=2):
                    names.append(obj.metadata.name)
                    if len(names) == 3:
                        raise LookupError(obj.metadata.name)

            with pytest.raises(LookupError, match="b2"):
                await read()
            await anyio.sleep(60)
            assert (names, count_lists(cluster)) == (["b0", "b1", "b2"], 2)

    go(main)


def test_pg_12_pg_13_after_a_cancellation_or_an_exit_no_page_is_requested(go: Go) -> None:
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
            assert count_lists(cluster) == 3

    go(main)


def test_pg_15_a_page_is_requested_after_all_objects_of_the_previous_page(go: Go) -> None:
    async def main() -> None:
        cluster = shelf(6)
        async with simulated(cluster) as client:
            list_counts: list[int] = []
            async for _ in client.api(Book).items(limit=2):
                await anyio.sleep(10)
                list_counts.append(count_lists(cluster))
            assert list_counts == [1, 1, 2, 2, 3, 3]

    go(main)
