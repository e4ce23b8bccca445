"""Lines that are dead without a sign, and servers that are not there yet."""

from __future__ import annotations

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto_sim as sim
from kubeproto.watching import resync
from kubeproto_runtime import BlockingClient, Caches, Operator, conditions
from kubeproto_runtime.testing import run, simulated

__all__ = ["go"]


def test_a_read_that_falls_silent_is_retried_while_there_is_time(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        faults = sim.Faults(cluster, script=[sim.HalfOpen()])
        async with simulated(cluster, faults=faults) as client:
            assert (await client.api(Book).get("a")).metadata.name == "a"
            assert 30 <= anyio.current_time() < 35

    go(main)


def test_a_thread_does_not_wait_for_a_dead_line_either() -> None:
    cluster = library()
    cluster.put(book("a"))
    faults = sim.Faults(cluster, script=[sim.HalfOpen()])
    client = BlockingClient(faults.blocking_transport(), clock=lambda: cluster.now, sleep=cluster.advance)
    assert client.api(Book).get("a").metadata.name == "a"


def test_a_wait_begins_while_the_server_is_not_there(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.RefuseConnection()] * 8)
        async with simulated(cluster, faults=faults) as client:
            client.later(90, lambda: cluster.put(book("a")))
            found = await client.api(Book).wait_for("a", conditions.exists(), timeout=300)
            assert found.metadata.name == "a"

    go(main)


def test_a_quiet_watch_has_its_bookmarks(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            await client.api(Book).create(book("a"))
            async with client.api(Book).follow() as events:
                with anyio.move_on_after(290):
                    async for _ in events:
                        pass
        assert sum("watch=true" in line for line in faults.lines) == 1, faults.transcript

    go(main)


def test_a_list_of_many_pages_takes_no_second_for_each(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for number in range(60):
            cluster.put(book(f"b{number}"))
        async with simulated(cluster) as client, Caches(client) as caches:
            settings = resync.Settings(streaming=False, initial_version="", page_size=2)
            books = caches.cache(Book, settings=settings)
            await books.wait_synced()
            assert len(books) == 60
            assert anyio.current_time() < 1

    go(main)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_comes_out_of_an_operator_as_it_is(failure: type[BaseException]) -> None:
    async def fail() -> None:
        await anyio.sleep(1)
        raise failure

    async def main() -> None:
        with pytest.raises(failure):
            await Operator().run(fail)

    run(main, backend="trio")  # asyncio ends its loop by itself
