"""The end of a term: nothing begins after it, nothing is written after the lease, and nothing stays held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import CredentialsError
from kubeproto.control import Work, WorkQueue
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Client, Context, Controller, LeaseLost, Operator, recording
from kubeproto_runtime.operator import BootClock, LeaderElector
from kubeproto_runtime.operator._lease_clocks import LoopClock, default_clock
from kubeproto_runtime.reconciling._workers import Workers
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def on(backend: Backend, body: Callable[[SimulatedClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            with anyio.fail_after(3600):
                await body(client)

    run(main, backend=backend)


def config(name: str) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name))


def holder(client: SimulatedClient) -> str:
    found = client.cluster.get(Lease, "books")
    assert found is not None
    return str(found["spec"].get("holderIdentity") or "")


def steal(client: SimulatedClient) -> None:
    """Another process takes the lease, and stays."""
    spec = {"holderIdentity": "thief", "leaseDurationSeconds": 3600, "leaseTransitions": 7}
    client.cluster.edit(Lease, "books", lambda one: one.update(spec=spec))


def test_an_operator_that_loses_its_lease_within_the_grace_ends(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(ConfigMap).create(config("a"))

        async def slow(subject: ConfigMap, ctx: Context[None]) -> None:
            await anyio.sleep(20)

        operator = Operator(election=LeaderElector(client, name="books", identity="me"), grace=30)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, ConfigMap).run(slow))
            await anyio.sleep(1)
            operator.stop()
            await anyio.sleep(1)
            steal(client)
        assert anyio.current_time() < 10
        assert holder(client) == "thief"

    on(backend, body)


def test_no_run_begins_once_the_workers_are_cancelled_however_long_the_last_one_takes(
    backend: Backend,
) -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        begun: list[str] = []
        scope = anyio.CancelScope()

        async def perform(work: Work[str]) -> None:
            begun.append(work.key)
            try:
                if work.key == "first":
                    await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(5)

        workers = Workers(
            queue,
            perform,
            on_timeout=lambda work, error: None,
            on_error=lambda work, error: None,
            may_begin=None,
            hold=lambda key, writes, started, ended: False,
            concurrency=3,
            limit=None,
        )

        async def work() -> None:
            with scope:
                await workers.run()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await anyio.sleep(0)
            queue.add("first", anyio.current_time())
            workers.wake()
            await anyio.sleep(1)
            scope.cancel()
            for number in range(20):
                queue.add(f"late {number}", anyio.current_time())
                workers.wake()
                await anyio.sleep(0.1)
        assert begun == ["first"]

    run(main, backend=backend)


def test_no_run_begins_when_the_lease_has_run_out_although_nobody_was_told(backend: Backend) -> None:
    """As after a pause of the process: what is due and the clock that cuts the work off wake up together."""

    class Stopped:
        offset = 0.0

        def now(self) -> float:
            return anyio.current_time() + self.offset

        async def sleep_until(self, deadline: float) -> None:
            await anyio.sleep_until(deadline - self.offset)  # a pause meanwhile goes unnoticed

    async def body(client: SimulatedClient) -> None:
        clock, begun = Stopped(), list[str]()

        async def reconcile(subject: ConfigMap, ctx: Context[None]) -> None:
            begun.append(ctx.name)

        election = LeaderElector(client, name="books", identity="me", clock=clock)
        operator = Operator(election=election)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, ConfigMap).run(reconcile))
            await client.api(ConfigMap).create(config("a"))
            await anyio.sleep(0.5)
            clock.offset = 12.0
            await client.api(ConfigMap).create(config("b"))
            await anyio.sleep(0.5)
            assert begun == ["a"]
            await anyio.sleep(60)
            assert begun == ["a", "b"]
            operator.stop()

    on(backend, body)


def test_what_is_written_after_the_lease_is_refused_and_what_is_read_is_not(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        faults = sim.Faults(client.cluster)
        async with simulated(client.cluster, faults=faults) as alone:
            written: list[float] = []
            refused: list[str] = []
            api = client.api(ConfigMap)

            async def work() -> None:
                try:
                    await anyio.sleep_forever()
                finally:
                    with anyio.CancelScope(shield=True):
                        for number in range(20):
                            await api.list()
                            try:
                                await api.create(config(f"late-{number}"))
                                written.append(anyio.current_time())
                            except LeaseLost as error:
                                refused.append(str(error))
                            await anyio.sleep(1)

            election = LeaderElector(alone, name="books", identity="me")
            operator = Operator(election=election)
            async with anyio.create_task_group() as tasks:

                async def never(subject: ConfigMap, ctx: Context[None]) -> None: ...

                tasks.start_soon(operator.run, work, Controller(client, ConfigMap).run(never))
                await anyio.sleep(1)
                faults.script += [sim.RefuseConnection()] * 1000
                await anyio.sleep(25)
                # Nobody else may take a lease of 15 s that was last renewed at 0 s before 15 s have passed.
                assert [round(at) for at in written] == [10, 11, 12, 13, 14]
                assert len(refused) == 11
                assert "POST /api/v1/namespaces/default/configmaps was not sent" in refused[0]
                assert "the lease default/books" in refused[0]
                await api.create(config("of-nobody"))  # this task is not one of the operator's
                tasks.cancel_scope.cancel()

    on(backend, body)


def test_a_plain_function_writes_no_longer_than_the_lease_with_a_client_that_no_controller_has(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        faults = sim.Faults(client.cluster)
        async with simulated(client.cluster, faults=faults) as alone:
            written: list[float] = []

            async def work() -> None:
                number = 0
                with anyio.CancelScope(shield=True):
                    while anyio.current_time() < 30:
                        number += 1
                        try:
                            await client.api(ConfigMap).create(config(f"{number}"))
                        except LeaseLost:
                            pass
                        else:
                            written.append(anyio.current_time())
                        await anyio.sleep(1)

            operator = Operator(election=LeaderElector(alone, name="books", identity="me"))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, work)
                await anyio.sleep(1)
                faults.script += [sim.RefuseConnection()] * 1000
                await anyio.sleep(28)
                assert [round(at) for at in written] == [*range(15)]
                assert 'rest_client_requests_total{code="201",host="",method="POST"} 15' in operator.metrics()
                faults.script.clear()
                operator.stop()

    on(backend, body)


def test_an_operator_that_lost_its_lease_takes_it_again_with_the_client_that_may_not_write(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        begun: list[float] = []

        async def work() -> None:
            begun.append(anyio.current_time())
            await client.api(ConfigMap).create(config(f"{len(begun)}"))
            await anyio.sleep_forever()

        operator = Operator(election=LeaderElector(client, name="books", identity="me"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, work)
            await anyio.sleep(1)
            steal(client)
            await anyio.sleep(60)
            client.cluster.edit(Lease, "books", lambda one: one.update(spec={"leaseDurationSeconds": 1}))
            await anyio.sleep(60)
            assert len(begun) == 2
            operator.stop()

    on(backend, body)


def test_a_lease_that_another_holds_refuses_writes_at_once(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        refused: list[float] = []

        async def work() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True), pytest.raises(LeaseLost):
                    await client.api(ConfigMap).create(config("late"))
                refused.append(anyio.current_time())

        async def never(subject: ConfigMap, ctx: Context[None]) -> None: ...

        operator = Operator(election=LeaderElector(client, name="books", identity="me"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, work, Controller(client, ConfigMap).run(never))
            await anyio.sleep(1)
            steal(client)
            await anyio.sleep(3)
            assert [at < 3 for at in refused] == [True]
            operator.stop()

    on(backend, body)


@pytest.mark.parametrize("name", BACKENDS)
def test_the_clock_of_an_election_counts_suspension_unless_time_is_simulated(name: Backend) -> None:
    async def kind() -> type:
        return type(default_clock())

    assert run(kind, backend=name) is LoopClock
    assert anyio.run(kind, backend=name) is BootClock


class Plugin:
    """A transport whose credential plugin fails for a while."""

    def __init__(self, inner: kp.Transport, *, fails: Callable[[], bool]) -> None:
        self.inner, self.fails = inner, fails

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **limits: Any) -> AsyncGenerator[kp.IncomingResponse]:
        if self.fails():
            raise CredentialsError("the plugin get-token failed: exit code 1")
        async with self.inner.send(request, **limits) as incoming:
            yield incoming


def test_a_credential_plugin_that_fails_for_a_while_ends_no_election_and_no_event(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        failing = False
        mine = Client(Plugin(client.transport, fails=lambda: failing), wall_clock=client.wall_clock)
        terms: list[float] = []

        async def work() -> None:
            terms.append(anyio.current_time())
            await anyio.sleep_forever()

        async with (
            anyio.create_task_group() as tasks,
            recording(mine, controller="example.com/books", instance="b") as events,
        ):
            leading = LeaderElector(mine, name="books", identity="me")
            tasks.start_soon(leading.run, work)
            await anyio.sleep(1)
            failing = True
            events.record(await client.api(ConfigMap).create(config("a")), "Told")
            await anyio.sleep(1.5)
            failing = False
            await anyio.sleep(60)
            assert (len(terms), leading.is_leader) == (1, True)
            assert (events.recorder.sent, events.recorder.failed) == (1, 0)
            tasks.cancel_scope.cancel()

    on(backend, body)


def test_a_run_that_answers_its_cancellation_with_an_error_of_a_group_ends_nothing(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(ConfigMap).create(config("a"))
        calls: list[float] = []

        async def fail() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                raise ValueError("cannot clean up")

        async def reconcile(subject: ConfigMap, ctx: Context[None]) -> None:
            calls.append(anyio.current_time())
            if len(calls) == 1:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(fail)
                    tasks.start_soon(anyio.sleep_forever)

        operator = Operator(election=LeaderElector(client, name="books", identity="me"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, ConfigMap).run(reconcile))
            await anyio.sleep(1)
            client.cluster.remove(Lease, "books")
            await anyio.sleep(30)
            assert len(calls) == 2
            assert 'result="error"} 1' in operator.metrics()
            operator.stop()

    on(backend, body)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_within_a_run_gives_the_lease_back_and_comes_out_as_it_is(
    backend: Backend, error: BaseException
) -> None:
    cluster = sim.Cluster()

    async def main() -> None:
        async with simulated(cluster) as client:
            await client.api(ConfigMap).create(config("a"))

            async def leave(subject: ConfigMap, ctx: Context[None]) -> None:
                await anyio.sleep(1)
                raise error

            election = LeaderElector(client, name="books", identity="me")
            await Operator(election=election).run(Controller(client, ConfigMap).run(leave))

    with pytest.raises(type(error)) as raised:
        run(main, backend=backend)
    assert raised.value is error
    found = cluster.get(Lease, "books")
    assert found is not None
    assert not found["spec"].get("holderIdentity")


def test_what_is_added_while_the_lease_is_being_lost_begins_with_the_next_term(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        begun: list[float] = []

        async def slow_to_end() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(4)

        async def added() -> None:
            begun.append(anyio.current_time())
            await anyio.sleep_forever()

        operator = Operator(election=LeaderElector(client, name="books", identity="me"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, slow_to_end)
            await anyio.sleep(1)
            steal(client)
            await anyio.sleep(2)
            operator.add(added)
            await anyio.sleep(10)
            assert begun == []
            client.cluster.remove(Lease, "books")
            await anyio.sleep(30)
            assert len(begun) == 1
            operator.stop()

    on(backend, body)


def test_a_stray_cancellation_out_of_on_leader_costs_no_term() -> None:
    async def body(client: SimulatedClient) -> None:
        def broken(leader: str) -> None:
            raise asyncio.CancelledError

        async def work() -> None:
            await anyio.sleep(30)

        leading = LeaderElector(client, name="books", identity="me", on_leader=broken)
        await leading.run(work)
        assert anyio.current_time() >= 30
        assert holder(client) == ""

    on("asyncio", body)


# Errors of `on_leader`


class Fatal(BaseException):
    """An error that is no `Exception`."""


ENDING: Final = (SystemExit, KeyboardInterrupt, GeneratorExit, Fatal)
MOMENTS: Final = ("me", "")  # when this process leads, and when it has released the lease


def observing(leader: str, error: type[BaseException]) -> Callable[[str], None]:
    def on_leader(name: str) -> None:
        if name == leader:
            raise error

    return on_leader


@pytest.mark.parametrize("leader", MOMENTS)
@pytest.mark.parametrize("error", ENDING)
def test_an_error_of_on_leader_that_ends_a_process_is_raised_after_the_release(
    backend: Backend, error: type[BaseException], leader: str
) -> None:
    async def body(client: SimulatedClient) -> None:
        ended: list[str] = []

        async def work() -> None:
            try:
                await anyio.sleep(5)
            finally:
                ended.append(holder(client))

        elector = LeaderElector(client, name="books", identity="me", on_leader=observing(leader, error))
        with pytest.raises(error):
            await elector.run(work)
        assert ended in ([], ["me"])  # the lease was held until the work had ended
        assert holder(client) == ""
        assert anyio.current_time() < 10

    on(backend, body)


@pytest.mark.parametrize("leader", MOMENTS)
@pytest.mark.parametrize("error", ENDING)
def test_an_operator_whose_on_leader_ends_the_process_releases_its_lease(
    backend: Backend, error: type[BaseException], leader: str
) -> None:
    async def body(client: SimulatedClient) -> None:
        cleaned_up: list[str] = []

        async def reconcile(subject: ConfigMap, ctx: Context[None]) -> None:
            try:
                await anyio.sleep(3)
            finally:
                cleaned_up.append(holder(client))

        await client.api(ConfigMap).create(config("a"))
        elector = LeaderElector(client, name="books", identity="me", on_leader=observing(leader, error))
        operator = Operator(election=elector, grace=1)

        async def stop_later() -> None:
            await anyio.sleep(2)
            operator.stop()

        with pytest.raises(error):
            await operator.run(stop_later, Controller(client, ConfigMap).run(reconcile))
        assert cleaned_up in ([], ["me"])
        assert holder(client) == ""

    on(backend, body)


@pytest.mark.parametrize("leader", MOMENTS)
def test_a_cancellation_that_on_leader_raises_is_logged_and_ends_nothing(
    backend: Backend, leader: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        led: list[float] = []

        async def work() -> None:
            await anyio.sleep(60)
            led.append(anyio.current_time())

        on_leader = observing(leader, asyncio.CancelledError)
        await LeaderElector(client, name="books", identity="me", on_leader=on_leader).run(work)
        assert len(led) == 1
        assert holder(client) == ""

    on(backend, body)
    assert "on_leader failed" in caplog.text
