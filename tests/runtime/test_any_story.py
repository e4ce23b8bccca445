"""Operators under any story of a few events: what is promised of them holds whatever happens in which order.

Two processes stand for one lease, over networks that fail, with clocks that may be stopped. Their runs begin
and end, fail, clean up slowly and write. What must hold: no run begins and no write is sent after the lease
has expired; no two runs of a key at once; a stopped program ends; and in the end, what is there has been
reconciled.
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


class Paused:
    """The clock of a process, which may have been stopped for a while: its timers fire late."""

    def __init__(self) -> None:
        self.missed = 0.0

    def now(self) -> float:
        return anyio.current_time() + self.missed

    async def sleep_until(self, at: float) -> None:
        await anyio.sleep(max(0.0, at - self.now()))


class Process:
    """One replica: its operator, and what its runs were seen to do."""

    def __init__(self, name: str, client: SimulatedClient, rng: Random) -> None:
        self.name, self.client, self.rng = name, client, rng
        self.clock = Paused()
        self.election = LeaderElector(client, name="books", identity=name, clock=self.clock)
        self.operator = Operator(election=self.election, grace=5.0)
        self.running: set[str] = set()
        self.reconciled: dict[str, str] = {}
        self.faults: list[str] = []

    async def run(self) -> None:
        controller = Controller(self.client, Book, concurrency=3, timeout=8.0)
        await self.operator.run(controller.run(self.reconcile, observe=self.observe))

    def observe(self, result: object) -> None:
        if self.rng.random() < 0.1:
            raise ArithmeticError("of observe")

    async def reconcile(self, subject: Book, ctx: Context[Any]) -> Action | None:
        if not self.election.is_leader:
            self.faults.append(f"{self.name} begins {ctx.key} at {anyio.current_time():g} and does not lead")
        if ctx.key in self.running:
            self.faults.append(f"{self.name} runs {ctx.key} twice at once")
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
            self.faults.append(f"{self.name} wrote {ctx.key} at {anyio.current_time():g} without the lease")


async def _fail_when_cancelled() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        raise ValueError("cannot clean up")


def happen(rng: Random, cluster: sim.Cluster, networks: list[sim.Faults], processes: list[Process]) -> None:
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
def test_whatever_happens_to_two_replicas_nothing_begins_or_is_written_without_the_lease(
    go: Go, seed: int
) -> None:
    logging.getLogger("kubeproto").setLevel(logging.CRITICAL)
    rng = Random(seed)

    async def main() -> None:
        cluster = library()
        networks = [sim.Faults(cluster, seed=seed), sim.Faults(cluster, seed=seed + 100)]
        ended: list[str] = []

        async def live(process: Process, run: Callable[[], Awaitable[None]]) -> None:
            await run()
            ended.append(process.name)

        async with (
            simulated(cluster, faults=networks[0], seed=seed) as one,
            simulated(cluster, faults=networks[1], seed=seed + 1) as two,
            anyio.create_task_group() as tasks,
        ):
            processes = [Process("a", one, rng), Process("b", two, rng)]
            for process in processes:
                tasks.start_soon(live, process, process.run)
            for _ in range(150):
                await anyio.sleep(rng.choice([0.05, 0.5, 3.0]))
                happen(rng, cluster, networks, processes)
            for network in networks:
                network.calm()
            await anyio.sleep(300)
            assert [fault for process in processes for fault in process.faults] == []
            assert [process.election.is_leader for process in processes].count(True) == 1
            leader = next(process for process in processes if process.election.is_leader)
            keys = {f"default/{name}" for name in (f"b{n}" for n in range(6)) if cluster.get(Book, name)}
            assert keys <= leader.reconciled.keys()
            assert not leader.running
            networks[0].script += [
                sim.RefuseConnection()
            ] * 1000  # one of them cannot even give the lease back
            for process in processes:
                process.operator.stop()
            with anyio.fail_after(120):
                while len(ended) < 2:
                    await anyio.sleep(1)

    try:
        go(main)
    finally:
        logging.getLogger("kubeproto").setLevel(logging.NOTSET)
