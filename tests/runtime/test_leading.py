"""LeaderElector: work is done by one process at a time, stops in time, and goes on elsewhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from random import Random

import anyio
import pytest
from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto_runtime import Client, Operator
from kubeproto_runtime.operator import BootClock, Election, LeaderElector
from kubeproto_runtime.testing import run, simulated

__all__ = ["go"]

ANOTHER = pytest.mark.thorough("another day of the same kind")


class Acting:
    """Who does the work, and when: fails as soon as two do it at once."""

    def __init__(self) -> None:
        self.now: list[str] = []
        self.history: list[tuple[float, str]] = []

    def as_(self, name: str, *, unwinding: float = 0.0) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            self.now.append(name)
            self.history.append((anyio.current_time(), name))
            try:
                assert len(self.now) == 1, f"{self.now} act at once"
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(unwinding)
                self.now.remove(name)

        return work


def lease(cluster: sim.Cluster) -> dict[str, object]:
    found = cluster.get(Lease, "books")
    assert found is not None
    spec: dict[str, object] = found["spec"]
    return spec


def requests(cluster: sim.Cluster) -> list[tuple[float, str]]:
    return [
        (round(exchange.time - cluster.log[0].time, 3), exchange.request.method) for exchange in cluster.log
    ]


def test_le_17_who_finds_nobody_leads_at_once_and_renews_every_two_seconds(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            leading = LeaderElector(client, name="books", identity="a")
            assert not leading.is_leader
            tasks.start_soon(leading.run, acting.as_("a"))
            await anyio.sleep(5)
            assert requests(cluster) == [(0.0, "GET"), (0.0, "POST"), (2.0, "PUT"), (4.0, "PUT")]
            assert acting.history == [(0.0, "a")]
            assert (
                leading.is_leader,
                leading.leadership_status.leader,
                leading.leadership_status.healthy,
            ) == (True, "a", True)
            assert lease(cluster)["holderIdentity"] == "a"
            tasks.cancel_scope.cancel()

    go(main)


def test_le_12_a_leader_that_ends_gives_the_lease_back_and_the_next_one_need_not_wait(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            first, second = (LeaderElector(client, name="books", identity=name) for name in "ab")
            scope = anyio.CancelScope()

            async def lead() -> None:
                with scope:
                    await first.run(acting.as_("a", unwinding=3.0))

            tasks.start_soon(lead)
            await anyio.sleep(1)
            tasks.start_soon(second.run, acting.as_("b"))
            await anyio.sleep(29)
            assert second.leadership_status.leader == "a"
            scope.cancel()
            await anyio.sleep(2.9)
            assert lease(cluster)["holderIdentity"] == "a"
            assert acting.now == ["a"]
            await anyio.sleep(0.1 + 4.4)
            assert acting.now == ["b"]
            assert not first.is_leader
            assert second.is_leader
            assert lease(cluster)["leaseTransitions"] == 1
            tasks.cancel_scope.cancel()

    go(main)


def test_a_leader_that_is_told_to_end_renews_while_its_work_winds_up(go: Go) -> None:
    """A minute is longer than any lease: without the shield another one would lead meanwhile."""

    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            first, second = (LeaderElector(client, name="books", identity=name) for name in "ab")

            async def lead_for_a_while() -> None:
                with anyio.move_on_after(1):
                    await first.run(acting.as_("a", unwinding=60.0))

            tasks.start_soon(lead_for_a_while)
            await anyio.sleep(0.5)
            tasks.start_soon(second.run, acting.as_("b"))
            await anyio.sleep(70)
            assert [name for _, name in acting.history] == ["a", "b"]
            assert 61.0 <= acting.history[1][0] <= 65.4
            tasks.cancel_scope.cancel()

    go(main)


def test_who_cannot_reach_the_server_stops_its_work_in_time_and_leads_again_later(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        faults = sim.Faults(cluster)
        async with (
            simulated(cluster, faults=faults) as alone,
            simulated(cluster) as client,
            anyio.create_task_group() as tasks,
        ):
            first = LeaderElector(alone, name="books", identity="a")
            second = LeaderElector(client, name="books", identity="b")
            tasks.start_soon(first.run, acting.as_("a"))
            await anyio.sleep(1)
            tasks.start_soon(second.run, acting.as_("b"))
            faults.script += [sim.RefuseConnection()] * 1000
            await anyio.sleep(8.9)
            assert acting.now == ["a"]
            await anyio.sleep(0.2)  # ten seconds after its last write was sent
            assert acting.now == []
            assert not first.is_leader
            assert 1000 - len(faults.script) <= 6  # one request at a time, every two seconds
            await anyio.sleep(10)
            assert acting.now == ["b"]
            assert 15.0 <= acting.history[1][0] <= 20.1
            faults.calm()
            await anyio.sleep(10)
            assert first.leadership_status.leader == "b"
            assert acting.now == ["b"]
            tasks.cancel_scope.cancel()

    go(main)


def test_a_lease_that_another_has_taken_stops_the_work_at_once(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            leading = LeaderElector(client, name="books", identity="a")
            told: list[str] = []
            leading = LeaderElector(client, name="books", identity="a", on_leader=told.append)
            tasks.start_soon(leading.run, acting.as_("a"))
            await anyio.sleep(3)
            spec = {"holderIdentity": "thief", "leaseDurationSeconds": 15, "leaseTransitions": 7}
            cluster.edit(Lease, "books", lambda one: one.update(spec=spec))
            await anyio.sleep(1.1)
            assert acting.now == []
            assert told == ["a", "thief"]
            await anyio.sleep(20)
            assert acting.now == ["a"]  # the thief has not renewed
            assert told == ["a", "thief", "a"]
            assert lease(cluster)["leaseTransitions"] == 8
            tasks.cancel_scope.cancel()

    go(main)


def test_a_lease_that_another_takes_after_the_term_is_not_held_any_longer(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, anyio.create_task_group() as tasks:
            leading = LeaderElector(client, name="books", identity="a")
            tasks.start_soon(leading.run, anyio.sleep_forever)
            await anyio.sleep(1)
            faults.script += [sim.RefuseConnection()] * 1000
            await anyio.sleep(10)
            assert (leading.is_leader, leading.holds) == (False, True)
            spec = {"holderIdentity": "thief", "leaseDurationSeconds": 15, "leaseTransitions": 7}
            cluster.edit(Lease, "books", lambda one: one.update(spec=spec))
            faults.calm()
            await anyio.sleep(2.5)
            assert leading.leadership_status.leader == "thief"
            assert not leading.holds
            tasks.cancel_scope.cancel()

    go(main)


def test_a_callback_that_fails_is_logged_and_costs_no_lead(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()

        def fail(leader: str) -> None:
            raise ZeroDivisionError(leader)

        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(
                LeaderElector(client, name="books", identity="a", on_leader=fail).run, acting.as_("a")
            )
            await anyio.sleep(30)
            assert acting.history == [(0.0, "a")]
            tasks.cancel_scope.cancel()

    go(main)
    assert "on_leader failed" in caplog.text


def test_work_that_returns_or_raises_ends_leadership_and_the_error_comes_as_it_is(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            leading = LeaderElector(client, name="books", identity="a")

            async def short() -> None:
                await anyio.sleep(3)

            await leading.run(short)
            assert anyio.current_time() == 3
            assert not lease(cluster).get("holderIdentity")
            assert not leading.is_leader

            async def broken() -> None:
                raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await leading.run(broken)
            assert not lease(cluster).get("holderIdentity")
            await leading.run(short)

    go(main)


def test_work_that_swallows_its_cancellation_is_not_taken_for_done(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        begun: list[float] = []
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:

            async def tidy() -> None:
                begun.append(anyio.current_time())
                with suppress(anyio.get_cancelled_exc_class()):
                    await anyio.sleep_forever()

            leading = LeaderElector(client, name="books", identity="a")
            tasks.start_soon(leading.run, tidy)
            await anyio.sleep(3)
            cluster.remove(Lease, "books")
            await anyio.sleep(3)
            assert len(begun) == 2
            tasks.cancel_scope.cancel()

    go(main)


def test_an_operator_runs_its_parts_while_it_leads_and_gives_the_lease_back(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            election: Election = LeaderElector(client, name="books", identity="a")
            assert election.name == "default/books"
            operator = Operator(election=election)
            done: list[float] = []

            async def part() -> None:
                await anyio.sleep(5)
                done.append(anyio.current_time())
                await anyio.sleep_forever()

            tasks.start_soon(operator.run, part)
            await anyio.sleep(20)
            assert done == [5.0]
            assert [operator.leading] == [True]
            operator.stop()
            await anyio.sleep(60)
            assert [operator.leading] == [False]
            assert not lease(cluster).get("holderIdentity")

    go(main)


def test_a_candidate_stands_once_at_a_time(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            leading = LeaderElector(client, name="books", identity="a")
            tasks.start_soon(leading.run, acting.as_("a"))
            await anyio.sleep(1)
            with pytest.raises(RuntimeError, match="is running already"):
                await leading.run(acting.as_("a"))
            assert repr(leading) == "<a, a candidate for default/books>"
            tasks.cancel_scope.cancel()

    go(main)


def test_a_server_that_is_gone_holds_nobody_up_for_long_at_the_end(go: Go) -> None:
    async def main() -> None:
        cluster, acting = sim.Cluster(), Acting()
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            with anyio.move_on_after(3):
                await LeaderElector(client, name="books", identity="a").run(
                    lambda: _then(faults, acting.as_("a"), sim.Delay(1000))
                )
            assert 3 <= anyio.current_time() <= 8

    go(main)


async def _then(faults: sim.Faults, work: Callable[[], Awaitable[None]], fault: sim.Fault) -> None:
    faults.script += [fault] * 1000
    await work()


def test_le_16_settings_that_cannot_work_are_refused() -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            with pytest.raises(kp.InvalidRequest, match="renew_deadline"):
                LeaderElector(client, name="books", identity="a", lease_duration=10)
            with pytest.raises(kp.InvalidRequest, match="identity"):
                LeaderElector(client, name="books", identity="")

    run(main)


def test_a_clock_that_counts_sleep_goes_forward() -> None:
    """On an ordinary loop: the clock is the machine's."""

    async def main() -> None:
        clock = BootClock()
        at = clock.now() + 0.01
        await clock.sleep_until(at)
        assert clock.now() >= at

    anyio.run(main)


def test_a_leader_whose_machine_slept_past_its_lease_ends_within_a_second(
    go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timers of an event loop sleep along: only the clock of the system shows how long it was."""
    slept = 0.0
    system = "kubeproto_runtime.operator._lease_clocks._boot_time"
    monkeypatch.setattr(system, lambda: anyio.current_time() + slept)

    async def main() -> None:
        nonlocal slept
        ended: list[float] = []

        async def work() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(anyio.current_time())

        async with simulated(sim.Cluster()) as client, anyio.create_task_group() as tasks:
            elector = LeaderElector(client, name="books", identity="a", clock=BootClock())
            tasks.start_soon(elector.run, work)
            await anyio.sleep(4.2)  # the next renewal would be at 6
            assert elector.is_leader
            slept = 60.0
            await anyio.sleep(1.1)
            assert [at <= 5.3 for at in ended] == [True]
            tasks.cancel_scope.cancel()

    go(main)


# Two never act at once: clocks that drift, processes that stand still, servers out of reach


class Drifting:
    """A clock that runs at its own rate, and began at its own time."""

    def __init__(self, rate: float, ahead: float) -> None:
        self.rate, self.ahead = rate, ahead

    def now(self) -> float:
        return self.ahead + self.rate * anyio.current_time()

    async def sleep_until(self, deadline: float) -> None:
        await anyio.sleep(max(0.0, deadline - self.now()) / self.rate)


class Partition:
    """Loses what it is told to: requests on their way, or answers on theirs."""

    def __init__(self, transport: kp.Transport, rng: Random) -> None:
        self.transport, self.rng, self.failure = transport, rng, 0.0

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[kp.IncomingResponse]:
        limit = 60.0 if timeout is None else timeout
        if self.rng.random() < self.failure:
            if self.rng.random() < 0.5:
                raise kp.ConnectError("out of reach")
            await anyio.sleep(min(limit, self.rng.uniform(0, 8)))
            if self.rng.random() < 0.5:
                raise kp.TransportError("it was lost")
        async with self.transport.send(request, timeout=timeout, idle=idle) as incoming:
            if self.rng.random() < self.failure:
                await anyio.sleep(min(limit, self.rng.uniform(0, 8)))
                raise kp.TransportError("the response was lost")
            yield incoming


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=ANOTHER), pytest.param(2, marks=ANOTHER)])
def test_l_01_on_a_bad_day_two_never_act_at_once_and_afterwards_one_leads(go: Go, seed: int) -> None:
    async def main() -> None:
        rng = Random(seed)
        cluster, acting = sim.Cluster(seed=seed), Acting()
        async with simulated(cluster, seed=seed) as client, anyio.create_task_group() as tasks:
            networks: list[Partition] = []
            candidates: list[LeaderElector] = []
            for name, rate in (("a", 0.8), ("b", 1.0), ("c", 1.16)):
                network = Partition(client.transport, rng)
                clock = Drifting(rate, rng.uniform(0, 1000))
                mine = Client(network, wall_clock=client.wall_clock, rng=Random(seed))
                leading = LeaderElector(mine, name="books", identity=name, clock=clock)
                networks.append(network)
                candidates.append(leading)
                tasks.start_soon(serve, leading, acting.as_(name), rng)
            for _ in range(40):
                for network in networks:
                    network.failure = rng.choice([0.0, 0.0, 0.3, 1.0])
                await anyio.sleep(rng.uniform(10, 40))
            assert len(acting.history) > 1
            for network in networks:
                network.failure = 0.0
            await anyio.sleep(60)
            assert len(acting.now) == 1
            assert [one.is_leader for one in candidates].count(True) == 1
            tasks.cancel_scope.cancel()

    go(main)


async def serve(leading: LeaderElector, work: Callable[[], Awaitable[None]], rng: Random) -> None:
    """A process that is restarted every so often."""
    while True:
        with anyio.move_on_after(rng.uniform(50, 500)):
            await leading.run(work)
        await anyio.sleep(rng.uniform(0, 20))
