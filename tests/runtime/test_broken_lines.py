"""Half-open connections, and servers that are not reachable yet."""

from __future__ import annotations

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto_sim as sim
from kubeproto.watching import resync
from kubeproto_runtime import BlockingClient, Caches, Operator, conditions
from kubeproto_runtime.testing import run, simulated

__all__ = ["go"]


def test_a_silent_read_is_retried_before_the_timeout(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        faults = sim.Faults(cluster, script=[sim.HalfOpen()])
        async with simulated(cluster, faults=faults) as client:
            assert (await client.api(Book).get("a")).metadata.name == "a"
            assert 30 <= anyio.current_time() < 35

    go(main)


def test_a_blocking_client_retries_on_a_half_open_connection() -> None:
    cluster = library()
    cluster.put(book("a"))
    faults = sim.Faults(cluster, script=[sim.HalfOpen()])
    client = BlockingClient(faults.blocking_transport(), clock=lambda: cluster.now, sleep=cluster.advance)
    assert client.api(Book).get("a").metadata.name == "a"


def test_a_wait_may_begin_while_the_server_is_unreachable(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.RefuseConnection()] * 8)
        async with simulated(cluster, faults=faults) as client:
            client.later(90, lambda: cluster.put(book("a")))
            existing = await client.api(Book).wait_for("a", conditions.exists(), timeout=300)
            assert existing.metadata.name == "a"

    go(main)


def test_bookmarks_keep_a_quiet_watch_alive(go: Go) -> None:
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


def test_a_list_of_many_pages_has_no_delay_between_pages(go: Go) -> None:
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
def test_an_operator_raises_exits_and_interrupts_unchanged(
    failure: type[BaseException],
) -> None:
    async def fail() -> None:
        await anyio.sleep(1)
        raise failure

    async def main() -> None:
        with pytest.raises(failure):
            await Operator().run(fail)

    run(main, backend="trio")  # asyncio ends its loop by itself
