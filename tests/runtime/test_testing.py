"""The simulated client itself: time that takes none, clients that share a cluster, and waits that end."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime.testing import BACKENDS, SimulatedClient, run, simulated

__all__ = ["go"]


def test_a_day_takes_no_time_and_is_a_day(go: Go) -> None:
    async def main() -> None:
        begun = anyio.current_time()
        with anyio.move_on_after(86_400):
            await anyio.sleep(1_000_000)
        assert anyio.current_time() - begun == 86_400

    go(main)


def test_time_stands_still_while_somebody_works(go: Go) -> None:
    async def main() -> None:
        seen: list[float] = []

        async def work() -> None:
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            seen.append(anyio.current_time())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 5)
            tasks.start_soon(work)
        assert seen == [0.0]

    go(main)


def test_a_run_gives_what_its_main_gives_and_takes_its_arguments() -> None:
    async def main(one: int, other: int) -> int:
        await anyio.sleep(10)
        return one + other

    assert [run(main, 1, 2, backend=backend) for backend in BACKENDS] == [3, 3]


def test_the_clock_of_the_cluster_goes_with_that_of_the_loop(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            assert client.wall_clock() == datetime(2026, 1, 1, tzinfo=UTC)
            await anyio.sleep(90)
            assert client.wall_clock() == datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)
            made = await client.api(Book).create(book())
            assert made.metadata.creation_timestamp == client.wall_clock()
        await anyio.sleep(10)
        async with simulated(cluster) as client:
            # The cluster had stopped while nobody drove it.
            assert client.wall_clock() - datetime(2026, 1, 1, tzinfo=UTC) == timedelta(seconds=90)

    go(main)


def test_what_the_cluster_is_to_do_later_happens_then(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        times: list[float] = []
        async with simulated(cluster) as client:
            client.later(5, lambda: times.append(anyio.current_time()))
            await anyio.sleep(3)
            client.later(1, lambda: times.append(anyio.current_time()))
            await anyio.sleep(10)
        assert times == [4.0, 5.0]

    go(main)


@pytest.mark.parametrize("first_out", [0, 1])
def test_clients_of_one_cluster_come_and_go_in_any_order(go: Go, first_out: int) -> None:
    async def main() -> None:
        cluster = library()
        leave = [anyio.Event(), anyio.Event()]
        clients: list[SimulatedClient] = []

        async def visit(number: int) -> None:
            async with simulated(cluster) as client:
                clients.append(client)
                await leave[number].wait()

        done: list[float] = []
        async with anyio.create_task_group() as tasks:
            for number in (0, 1):
                tasks.start_soon(visit, number)
                await anyio.sleep(1)
            leave[first_out].set()
            await anyio.sleep(1)
            clients[1 - first_out].later(5, lambda: done.append(anyio.current_time()))
            await anyio.sleep(10)
            leave[1 - first_out].set()
        assert done == [8.0]
        assert cluster.on_due is None or first_out == 0

    go(main)


def test_a_condition_is_waited_for_and_named_by_its_time_if_it_never_holds(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            cluster.later(5, lambda: cluster.put(book()))
            found = await client.until(lambda: cluster.get(Book, "moby"))
            assert found["spec"]["title"] == "Moby-Dick"
            assert 5.0 <= anyio.current_time() <= 5.2
            with pytest.raises(kp.DeadlineExceeded, match="within 7 s"):
                await client.until(lambda: cluster.get(Book, "emma"), within=7)

    go(main)


def test_faults_stand_before_the_cluster_that_they_belong_to(go: Go) -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="another cluster"):
            async with simulated(library(), faults=sim.Faults(library())):
                pass

    go(main)


@pytest.mark.parametrize(
    ("timeout", "idle", "at"), [(5.0, None, 5.0), (None, 7.0, 7.0), (100.0, 7.0, 7.0), (5.0, 7.0, 5.0)]
)
def test_a_response_that_does_not_come_in_time_is_a_deadline(
    go: Go, timeout: float | None, idle: float | None, at: float
) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Delay(60)])
        async with simulated(cluster, faults=faults) as client:
            request = client.requests(Book).watch(resource_version="1")
            with pytest.raises(kp.DeadlineExceeded):
                async with client.open(request, timeout=timeout, idle=idle):
                    pass
            assert anyio.current_time() == at

    go(main)


def test_a_watch_that_is_silent_ends_by_idle_and_one_that_speaks_does_not(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            version = str(cluster.version)
            for second in range(3, 31, 3):
                cluster.later(second, lambda: cluster.put(book()))
                cluster.later(second + 1, lambda: cluster.remove(Book, "moby"))
            request = client.requests(Book).watch(resource_version=version, bookmarks=False)
            seen = 0
            async with client.open(request, idle=5.0) as events:
                for _ in range(20):
                    seen += len(await anext(events))
                assert seen == 20
                with pytest.raises(kp.DeadlineExceeded):
                    await anext(events)
            assert anyio.current_time() == 36.0
        gc.collect()

    go(main)


def test_a_client_draws_the_same_numbers_each_time(go: Go) -> None:
    async def main() -> None:
        async with simulated(library(), seed=4) as one, simulated(library(), seed=4) as other:
            assert [one.random.random() for _ in range(5)] == [other.random.random() for _ in range(5)]
            assert isinstance(one, SimulatedClient)
            assert repr(one) == "SimulatedClient(SimulatedTransport(), namespace='default')"

    go(main)


def test_what_is_started_runs_until_the_end_and_no_longer(go: Go) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(anyio.current_time())
            await anyio.sleep(10)

    async def main() -> None:
        async with simulated(library()) as client:
            client.start(tick())
            await anyio.sleep(25)
        never = anyio.sleep(0)
        await anyio.sleep(100)
        with pytest.raises(RuntimeError, match="has ended"):
            client.start(never)
        never.close()

    go(main)
    assert ticks == [0.0, 10.0, 20.0]


def test_an_error_of_the_test_or_of_what_it_started_is_raised_unchanged(go: Go) -> None:
    async def fail() -> None:
        await anyio.sleep(5)
        raise ZeroDivisionError("in the background")

    async def wait_in_vain() -> None:
        async with simulated(library()) as client:
            client.start(fail())
            await anyio.sleep(60)

    async def main() -> None:
        with pytest.raises(KeyError, match="in the test"):
            async with simulated(library()):
                raise KeyError("in the test")
        with pytest.raises(ZeroDivisionError, match="in the background"):
            await wait_in_vain()

    go(main)
