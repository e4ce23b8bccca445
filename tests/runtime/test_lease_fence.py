"""The fence of a lease: which requests it refuses, of which clients and tasks, and when."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Thread

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import election
from kubeproto.kinds.core_v1 import ConfigMap, Pod
from kubeproto_runtime import LeaseLost, Operator
from kubeproto_runtime.operator._lease_clocks import LoopClock
from kubeproto_runtime.testing import BACKENDS, Backend, simulated, simulated_blocking


class Lease:
    """An election that has been won once and for all, unless its lease is taken away."""

    name = "default/books"
    holds = True
    leadership_status = election.LeadershipStatus(leads=True, leader="me", healthy=True)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        await work()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name))


def test_a_blocking_client_in_a_thread_of_the_operator_is_fenced(backend: Backend) -> None:
    cluster, lease = sim.Cluster(), Lease()

    async def main() -> None:
        with simulated_blocking(cluster) as client:
            api = client.api(ConfigMap)

            async def work() -> None:
                await anyio.to_thread.run_sync(api.create, config_map("held"))
                lease.holds = False
                await anyio.to_thread.run_sync(api.list)
                with pytest.raises(
                    LeaseLost, match="POST /api/v1/namespaces/default/configmaps was not sent"
                ):
                    await anyio.to_thread.run_sync(api.create, config_map("lost"))
                operator.stop()

            operator = Operator(election=lease)
            await operator.run(work)
            metrics = operator.metrics()
            assert 'rest_client_requests_total{code="201",host="",method="POST"} 1' in metrics

    anyio.run(main, backend=backend)
    assert cluster.get(ConfigMap, "held") is not None
    assert cluster.get(ConfigMap, "lost") is None


def test_a_thread_that_the_operator_did_not_start_is_not_fenced(backend: Backend) -> None:
    cluster, lease = sim.Cluster(), Lease()

    async def main() -> None:
        with simulated_blocking(cluster) as client:

            async def work() -> None:
                lease.holds = False
                operator.stop()

            operator = Operator(election=lease)
            await operator.run(work)
            thread = Thread(target=client.api(ConfigMap).create, args=(config_map("other"),))
            thread.start()
            await anyio.to_thread.run_sync(thread.join)

    anyio.run(main, backend=backend)
    assert cluster.get(ConfigMap, "other") is not None


def test_a_fence_ends_with_its_operator_and_an_operator_inside_of_another_has_both(backend: Backend) -> None:
    lease = Lease()

    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            api = client.api(ConfigMap)

            async def inner_work() -> None:
                with pytest.raises(LeaseLost):
                    await api.create(config_map("lost"))
                inner.stop()

            async def work() -> None:
                lease.holds = False
                await inner.run(inner_work)
                operator.stop()

            inner, operator = Operator(), Operator(election=lease)
            await operator.run(work)
            await api.create(config_map("of-nobody"))

    anyio.run(main, backend=backend)


def test_a_command_in_a_pod_is_refused_like_a_write(backend: Backend) -> None:
    lease = Lease()

    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            lease.holds = False

            async def work() -> None:
                with pytest.raises(LeaseLost, match="/pods/web/exec was not sent"):
                    async with client.api(Pod).exec("web", ["true"]):
                        pass
                operator.stop()

            operator = Operator(election=lease)
            await operator.run(work)

    anyio.run(main, backend=backend)


def test_a_fence_in_a_thread_reads_the_clock_of_the_event_loop(backend: Backend) -> None:
    async def main() -> None:
        clock = LoopClock()
        now = clock.now()
        assert now <= await anyio.to_thread.run_sync(clock.now) < now + 60

    anyio.run(main, backend=backend)


def in_thread(backend: Backend, start: str, write: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    """Return a function that writes in a thread that was started in some way, and waits for it."""

    async def join(thread: Thread) -> None:
        thread.start()
        await anyio.to_thread.run_sync(thread.join)

    async def run() -> None:
        match start:
            case "anyio.to_thread":
                await anyio.to_thread.run_sync(write)
            case "the loop's to_thread" if backend == "trio":
                import trio

                await trio.to_thread.run_sync(write)
            case "the loop's to_thread":
                await asyncio.to_thread(write)
            case "copy_context":
                await join(Thread(target=copy_context().run, args=(write,)))
            case "a thread of a fenced thread":
                await anyio.to_thread.run_sync(lambda: anyio.from_thread.run(anyio.to_thread.run_sync, write))
            case "Thread":
                await join(Thread(target=write))
            case _:
                with ThreadPoolExecutor(1) as pool:
                    await anyio.to_thread.run_sync(lambda: pool.submit(write).result())

    return run


INHERITS: bool = bool(getattr(sys.flags, "thread_inherit_context", False))


@pytest.mark.parametrize(
    ("start", "is_fenced"),
    [
        ("anyio.to_thread", True),
        ("the loop's to_thread", True),
        ("copy_context", True),
        ("a thread of a fenced thread", True),
        ("Thread", INHERITS),
        ("ThreadPoolExecutor", INHERITS),
    ],
)
def test_a_thread_is_fenced_if_it_has_the_context_of_a_task_of_the_operator(
    backend: Backend, start: str, is_fenced: bool
) -> None:
    cluster, lease = sim.Cluster(), Lease()
    refusals: list[str] = []

    async def main() -> None:
        with simulated_blocking(cluster) as client:

            def write() -> None:
                try:
                    client.api(ConfigMap).create(config_map("late"))
                except LeaseLost as error:
                    refusals.append(str(error))

            async def work() -> None:
                lease.holds = False
                await in_thread(backend, start, write)()
                operator.stop()

            operator = Operator(election=lease)
            await operator.run(work)

    anyio.run(main, backend=backend)
    assert bool(refusals) is is_fenced
    assert (cluster.get(ConfigMap, "late") is None) is is_fenced
