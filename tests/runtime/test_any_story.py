"""Random stories of two operators with a lease, over failing networks and with suspended clocks.

Their reconciles start, end, fail, clean up slowly and write. In every story: no reconcile begins and no write
is sent after the lease has expired; a key is never reconciled twice at the same time; a stopped program ends;
and at the end all existing objects were reconciled.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, requeue
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto_runtime import Context, Controller, LeaseLost, Operator
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import SimulatedClient, simulated

__all__ = ["go"]

ANOTHER = pytest.mark.thorough("another story of the same kind")

LEASE_DURATION = 15.0


class SuspendedClock:
    """The clock of a process that may be suspended, so that its timers fire late."""

    def __init__(self) -> None:
        self.missed = 0.0

    def now(self) -> float:
        return anyio.current_time() + self.missed

    async def sleep_until(self, deadline: float) -> None:
        await anyio.sleep(max(0.0, deadline - self.now()))


class Process:
    """A replica: its operator, and the observed violations."""

    def __init__(self, name: str, client: SimulatedClient, rng: Random) -> None:
        self.name, self.client, self.rng = name, client, rng
        self.clock = SuspendedClock()
        self.election = LeaderElector(client, name="books", identity=name, clock=self.clock)
        self.operator = Operator(election=self.election, grace=5.0)
        self.running: set[str] = set()
        self.reconciled: dict[str, str] = {}
        self.violations: list[str] = []

    async def run(self) -> None:
        controller = Controller(self.client, Book, concurrency=3, timeout=8.0)
        await self.operator.run(controller.run(self.reconcile, observe=self.observe))

    def observe(self, result: object) -> None:
        if self.rng.random() < 0.1:
            raise ArithmeticError("of observe")

    async def reconcile(self, subject: Book, ctx: Context[Any]) -> Action | None:
        if not self.election.is_leader:
            self.violations.append(
                f"{self.name} begins {ctx.key} at {anyio.current_time():g} without leading"
            )
        if ctx.key in self.running:
            self.violations.append(f"{self.name} runs {ctx.key} twice at the same time")
        self.running.add(ctx.key)
        try:
            return await self._work(subject, ctx)
        finally:
            self.running.discard(ctx.key)

    async def _work(self, subject: Book, ctx: Context[Any]) -> Action | None:
        draw = self.rng.random()
        try:
            await anyio.sleep(self.rng.choice([0.0, 0.1, 2.0]))
            if draw < 0.1:
                raise LookupError(ctx.key)
            if draw < 0.15:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_fail_when_cancelled)
                    await anyio.sleep(self.rng.choice([1.0, 30.0]))
                    tasks.cancel_scope.cancel()
            await self._write(ctx)
        except anyio.get_cancelled_exc_class():
            if draw > 0.6:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(self.rng.choice([0.5, 4.0, 12.0]))
                    await self._write(ctx)
            raise
        self.reconciled[ctx.key] = subject.metadata.resource_version
        return requeue(after=60) if draw > 0.95 else None

    async def _write(self, ctx: Context[Any]) -> None:
        holds = self.election.holds
        try:
            await self.client.api(Book).status.merge_patch(ctx.name, {"status": {"lent": self.name}})
        except (LeaseLost, kp.ApiError, kp.TransportError):
            return
        if not holds:
            now = anyio.current_time()
            self.violations.append(f"{self.name} wrote {ctx.key} at {now:g} without the lease")


async def _fail_when_cancelled() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        raise ValueError("cannot clean up")


def cause_event(
    rng: Random, cluster: sim.Cluster, networks: list[sim.Faults], processes: list[Process]
) -> None:
    name = f"b{rng.randrange(6)}"
    network, process = rng.choice(networks), rng.choice(processes)
    match rng.randrange(9):
        case 0 | 1 | 2:
            cluster.put(book(name, pages=rng.randrange(1000)))
        case 3:
            if cluster.get(Book, name) is not None:
                cluster.remove(Book, name)
        case 4:
            network.script += [sim.RefuseConnection()] * rng.randrange(1, 12)
        case 5:
            cluster.compact()
        case 6:
            process.clock.missed += rng.choice([1.0, 12.0, 20.0])
        case 7:
            if cluster.get(Lease, "books") is not None:
                cluster.remove(Lease, "books")
        case _:
            network.script.append(sim.Delay(rng.choice([1.0, 7.0])))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=ANOTHER), pytest.param(2, marks=ANOTHER)])
def test_two_replicas_never_reconcile_or_write_without_the_lease_in_any_story(go: Go, seed: int) -> None:
    logging.getLogger("kubeproto").setLevel(logging.CRITICAL)
    rng = Random(seed)

    async def main() -> None:
        cluster = library()
        networks = [sim.Faults(cluster, seed=seed), sim.Faults(cluster, seed=seed + 100)]
        finished_processes: list[str] = []

        async def run_process(process: Process, run: Callable[[], Awaitable[None]]) -> None:
            await run()
            finished_processes.append(process.name)

        async with (
            simulated(cluster, faults=networks[0], seed=seed) as first_client,
            simulated(cluster, faults=networks[1], seed=seed + 1) as second_client,
            anyio.create_task_group() as tasks,
        ):
            processes = [Process("a", first_client, rng), Process("b", second_client, rng)]
            for process in processes:
                tasks.start_soon(run_process, process, process.run)
            for _ in range(150):
                await anyio.sleep(rng.choice([0.05, 0.5, 3.0]))
                cause_event(rng, cluster, networks, processes)
            for network in networks:
                network.calm()
            await anyio.sleep(300)
            assert [violation for process in processes for violation in process.violations] == []
            assert [process.election.is_leader for process in processes].count(True) == 1
            leader = next(process for process in processes if process.election.is_leader)
            keys = {f"default/{name}" for name in (f"b{n}" for n in range(6)) if cluster.get(Book, name)}
            assert keys <= leader.reconciled.keys()
            assert not leader.running
            # The first process cannot release the lease.
            networks[0].script += [sim.RefuseConnection()] * 1000
            for process in processes:
                process.operator.stop()
            with anyio.fail_after(120):
                while len(finished_processes) < 2:
                    await anyio.sleep(1)

    try:
        go(main)
    finally:
        logging.getLogger("kubeproto").setLevel(logging.NOTSET)
