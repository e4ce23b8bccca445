"""The simulated client: virtual time, clients that share a cluster, and waits with a timeout."""

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


def test_a_day_of_virtual_time_takes_no_real_time(go: Go) -> None:
    async def main() -> None:
        started_at = anyio.current_time()
        with anyio.move_on_after(86_400):
            await anyio.sleep(1_000_000)
        assert anyio.current_time() - started_at == 86_400

    go(main)


def test_the_clock_stands_still_while_a_task_runs(go: Go) -> None:
    async def main() -> None:
        finished_at: list[float] = []

        async def work() -> None:
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            finished_at.append(anyio.current_time())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 5)
            tasks.start_soon(work)
        assert finished_at == [0.0]

    go(main)


def test_a_run_passes_the_arguments_to_main_and_returns_its_result() -> None:
    async def main(first: int, second: int) -> int:
        await anyio.sleep(10)
        return first + second

    assert [run(main, 1, 2, backend=backend) for backend in BACKENDS] == [3, 3]


def test_the_cluster_uses_the_clock_of_the_event_loop(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            assert client.wall_clock() == datetime(2026, 1, 1, tzinfo=UTC)
            await anyio.sleep(90)
            assert client.wall_clock() == datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)
            created = await client.api(Book).create(book())
            assert created.metadata.creation_timestamp == client.wall_clock()
        await anyio.sleep(10)
        async with simulated(cluster) as client:
            # The clock of the cluster had stopped without a client.
            assert client.wall_clock() - datetime(2026, 1, 1, tzinfo=UTC) == timedelta(seconds=90)

    go(main)


def test_delayed_functions_of_a_cluster_run_at_their_time(go: Go) -> None:
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


@pytest.mark.parametrize("first_closed", [0, 1])
def test_clients_of_a_cluster_may_close_in_any_order(go: Go, first_closed: int) -> None:
    async def main() -> None:
        cluster = library()
        close_requests = [anyio.Event(), anyio.Event()]
        clients: list[SimulatedClient] = []

        async def use_client(number: int) -> None:
            async with simulated(cluster) as client:
                clients.append(client)
                await close_requests[number].wait()

        run_at: list[float] = []
        async with anyio.create_task_group() as tasks:
            for number in (0, 1):
                tasks.start_soon(use_client, number)
                await anyio.sleep(1)
            close_requests[first_closed].set()
            await anyio.sleep(1)
            clients[1 - first_closed].later(5, lambda: run_at.append(anyio.current_time()))
            await anyio.sleep(10)
            close_requests[1 - first_closed].set()
        assert run_at == [8.0]
        assert cluster.on_due is None or first_closed == 0

    go(main)


def test_until_returns_the_result_or_raises_an_error_with_the_timeout(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            cluster.later(5, lambda: cluster.put(book()))
            stored = await client.until(lambda: cluster.get(Book, "moby"))
            assert stored["spec"]["title"] == "Moby-Dick"
            assert 5.0 <= anyio.current_time() <= 5.2
            with pytest.raises(kp.DeadlineExceeded, match="within 7 s"):
                await client.until(lambda: cluster.get(Book, "emma"), within=7)

    go(main)


def test_faults_of_another_cluster_are_an_error(go: Go) -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="another cluster"):
            async with simulated(library(), faults=sim.Faults(library())):
                pass

    go(main)


@pytest.mark.parametrize(
    ("timeout", "idle", "expected_time"),
    [(5.0, None, 5.0), (None, 7.0, 7.0), (100.0, 7.0, 7.0), (5.0, 7.0, 5.0)],
)
def test_a_late_response_raises_deadline_exceeded(
    go: Go, timeout: float | None, idle: float | None, expected_time: float
) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Delay(60)])
        async with simulated(cluster, faults=faults) as client:
            request = client.requests(Book).watch(resource_version="1")
            with pytest.raises(kp.DeadlineExceeded):
                async with client.open(request, timeout=timeout, idle=idle):
                    pass
            assert anyio.current_time() == expected_time

    go(main)


def test_idle_ends_a_silent_watch_and_not_an_active_watch(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            version = str(cluster.version)
            for second in range(3, 31, 3):
                cluster.later(second, lambda: cluster.put(book()))
                cluster.later(second + 1, lambda: cluster.remove(Book, "moby"))
            request = client.requests(Book).watch(resource_version=version, bookmarks=False)
            event_count = 0
            async with client.open(request, idle=5.0) as events:
                for _ in range(20):
                    event_count += len(await anext(events))
                assert event_count == 20
                with pytest.raises(kp.DeadlineExceeded):
                    await anext(events)
            assert anyio.current_time() == 36.0
        gc.collect()

    go(main)


def test_clients_with_the_same_seed_draw_the_same_numbers(go: Go) -> None:
    async def main() -> None:
        async with simulated(library(), seed=4) as first, simulated(library(), seed=4) as second:
            assert [first.random.random() for _ in range(5)] == [second.random.random() for _ in range(5)]
            assert isinstance(first, SimulatedClient)
            assert repr(first) == "SimulatedClient(SimulatedTransport(), namespace='default')"

    go(main)


def test_started_coroutines_run_until_the_client_closes(go: Go) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(anyio.current_time())
            await anyio.sleep(10)

    async def main() -> None:
        async with simulated(library()) as client:
            client.start(tick())
            await anyio.sleep(25)
        late_coroutine = anyio.sleep(0)
        await anyio.sleep(100)
        with pytest.raises(RuntimeError, match="has ended"):
            client.start(late_coroutine)
        late_coroutine.close()

    go(main)
    assert ticks == [0.0, 10.0, 20.0]


def test_errors_of_the_test_and_of_its_coroutines_are_raised_unchanged(go: Go) -> None:
    async def fail() -> None:
        await anyio.sleep(5)
        raise ZeroDivisionError("in the background")

    async def wait_until_the_failure() -> None:
        async with simulated(library()) as client:
            client.start(fail())
            await anyio.sleep(60)

    async def main() -> None:
        with pytest.raises(KeyError, match="in the test"):
            async with simulated(library()):
                raise KeyError("in the test")
        with pytest.raises(ZeroDivisionError, match="in the background"):
            await wait_until_the_failure()

    go(main)
