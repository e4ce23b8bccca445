"""Operators: several controllers, their common start and end, elections, signals; in virtual time."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, election as elections, requeue
from kubeproto_runtime import Context, Controller, Operator
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """A book on a shelf."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def book(name: str) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=BookSpec(title=name.title()))


def on(backend: Backend, body: Callable[[SimulatedClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            await body(client)

    run(main, backend=backend)


class Log:
    """Who began and ended what, and when."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.lines: list[str] = []
        self.seconds = seconds
        self.begun = anyio.current_time()

    def add(self, line: str) -> None:
        self.lines.append(f"{anyio.current_time() - self.begun:g} {line}")

    async def __call__(self, subject: Book, ctx: Context[Any]) -> Action | None:
        name = subject.metadata.name
        self.add(f"{name} begins")
        try:
            await anyio.sleep(self.seconds)
        except BaseException:
            self.add(f"{name} is cancelled")
            raise
        self.add(f"{name} ends")
        return None


class Election:
    """Leads when told to, as an election on a Lease does, and writes down when it releases the lease."""

    name = "books"

    def __init__(self, log: Log) -> None:
        self.log = log
        self.leads = False
        self.healthy = True
        self.terms = 0
        self.won = anyio.Event()
        self.term = anyio.CancelScope()

    @property
    def leadership_status(self) -> elections.LeadershipStatus:
        return elections.LeadershipStatus(self.leads, "me" if self.leads else "other", self.healthy)

    @property
    def holds(self) -> bool:
        return self.leads

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            while True:
                await self.won.wait()
                self.leads = True
                self.terms += 1
                with anyio.CancelScope() as self.term:
                    await work()
                    return
                self.log.add("lost")
        finally:
            self.leads = False
            self.log.add("released")

    def win(self) -> None:
        self.won.set()

    def lose(self) -> None:
        self.won, self.leads = anyio.Event(), False
        self.term.cancel()


def test_mg_01_controllers_share_their_caches_and_some_may_come_later(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        one, two, three = Log(), Log(), Log()
        operator = Operator()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                operator.run,
                Controller(client, Book, name="one").run(one),
                Controller(client, Book, name="two").run(two),
            )
            await anyio.sleep(1)
            operator.add(Controller(client, Book, name="three").run(three))
            await anyio.sleep(1)
            assert len(client.cluster.watches) == 1
            operator.stop()
        assert (one.lines, two.lines) == (["0 a begins", "0 a ends"],) * 2
        assert three.lines == ["1 a begins", "1 a ends"]

    on(backend, body)


def test_mg_02_an_error_in_one_part_stops_the_others_and_comes_out(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        async def fail() -> None:
            await anyio.sleep(5)
            raise ArithmeticError("a part has failed")

        async def fail_at_the_end() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                raise LookupError("cannot clean up")

        with pytest.raises(ArithmeticError, match="a part has failed"):
            await Operator().run(Controller(client, Book).run(Log()), fail)
        assert client.cluster.watches == []
        with pytest.raises(ExceptionGroup, match="several parts have failed") as raised:
            await Operator().run(fail, fail_at_the_end)
        assert len(raised.value.exceptions) == 2

    on(backend, body)


@pytest.mark.parametrize(
    ("grace", "lines"),
    [
        (30.0, ["0 a begins", "10 a ends"]),
        (float("inf"), ["0 a begins", "10 a ends"]),
        (3.0, ["0 a begins", "4 a is cancelled"]),
        (0.0, ["0 a begins", "1 a is cancelled"]),
    ],
)
def test_mg_03_rn_09_rn_11_what_runs_may_end_within_the_grace(
    backend: Backend, grace: float, lines: list[str]
) -> None:
    async def body(client: SimulatedClient) -> None:
        for name in ("a", "b"):
            await client.api(Book).create(book(name))
        log = Log(10)
        operator = Operator(grace=grace)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book, concurrency=1).run(log))
            await anyio.sleep(1)
            operator.stop()
        assert log.lines == lines
        assert client.cluster.watches == []

    on(backend, body)


def test_mg_04_who_loses_the_lease_is_cut_off_without_a_grace_and_goes_on_when_it_leads_again(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        log = Log(10)
        election = Election(log)
        operator = Operator(election=election)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book).run(log))
            await anyio.sleep(1)
            led = [operator.leading]
            election.win()
            await anyio.sleep(1)
            led.append(operator.leading)
            assert led == [False, True]
            election.lose()
            await anyio.sleep(1)
            election.win()
            await anyio.sleep(20)
            operator.stop()
        assert log.lines == [
            "1 a begins", "2 a is cancelled", "2 lost", "3 a begins", "13 a ends", "23 released"
        ]  # fmt: skip

    on(backend, body)


def test_mg_05_mg_07_the_lease_is_released_when_the_last_run_has_ended(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        log = Log(10)
        election = Election(log)
        election.win()
        operator = Operator(election=election)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book).run(log))
            await anyio.sleep(1)
            operator.stop()
        assert log.lines == ["0 a begins", "10 a ends", "10 released"]

    on(backend, body)


def test_mg_06_who_is_stopped_before_it_leads_never_does(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        log = Log()
        election = Election(log)
        operator = Operator(election=election)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book).run(log))
            await anyio.sleep(1)
            operator.stop()
            election.win()
        assert log.lines == ["1 released"]
        assert election.terms == 0

    on(backend, body)


def test_ct_12_caches_are_filled_once_and_before_the_process_leads(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        log = Log()
        election = Election(log)
        operator = Operator(election=election)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book).run(log))
            await anyio.sleep(1)
            assert operator.ready()[0]
            await client.api(Book).create(book("b"))
            watches = list(client.cluster.watches)
            assert len(watches) == 1
            await anyio.sleep(9)
            election.win()
            await anyio.sleep(1)
            assert client.cluster.watches == watches
            operator.stop()
        # What happened meanwhile is more urgent than what was there before.
        begun = [line for line in log.lines if "begins" in line]
        assert begun == ["10 b begins", "10 a begins"]

    on(backend, body)


def test_mg_08_rn_10_an_operator_that_is_stopped_before_its_caches_are_filled_ends(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        start = anyio.current_time()
        faults = sim.Faults(client.cluster, script=[sim.Delay(1000.0)])
        async with simulated(client.cluster, faults=faults) as slow:
            operator = Operator()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(slow, Book).run(Log()))
                await anyio.sleep(1)
                operator.stop()
            assert anyio.current_time() - start < 2

    on(backend, body)


def test_an_operator_runs_once_and_refuses_what_makes_no_sense(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        stopped = Operator()
        stopped.stop()
        await stopped.run(Controller(client, Book).run(Log()))
        with pytest.raises(RuntimeError, match="run already"):
            await stopped.run()
        with pytest.raises(RuntimeError, match="this operator has ended"):
            stopped.add(Controller(client, Book).run(Log()))
        with pytest.raises(ValueError, match="two controllers 'book'"):
            await Operator().run(Controller(client, Book).run(Log()), Controller(client, Book).run(Log()))
        election = Election(Log())
        with pytest.raises(ValueError, match="give it to the operator"):
            await Operator().run(Controller(client, Book).run(Log(), election=election))

    on(backend, body)


def test_a_controller_alone_takes_an_election_too(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        log = Log()
        election = Election(log)
        with anyio.move_on_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_await, Controller(client, Book).run(log, election=election))
                await anyio.sleep(5)
                election.win()
        assert log.lines == ["5 a begins", "5 a ends", "10 released"]

    on(backend, body)


async def _await(waited: Awaitable[None]) -> None:
    await waited


def test_requests_of_other_tasks_count_for_the_operator_of_their_client_until_it_ends(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        operator = Operator()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book).run(Log()))
            await anyio.sleep(1)
            await client.api(Book).create(book("a"))
            assert 'rest_client_requests_total{code="201",host="",method="POST"} 1' in operator.metrics()
            operator.stop()
        await client.api(Book).create(book("b"))
        assert 'rest_client_requests_total{code="201",host="",method="POST"} 1' in operator.metrics()

    on(backend, body)


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGTERM, signal.SIGINT]])
def test_the_first_signal_stops_gently_and_the_second_at_once(
    backend: Backend, signals: list[signal.Signals], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto.operator")

    def received() -> list[str]:
        return [line for record in caplog.records if (line := record.getMessage()).endswith(" received")]

    async def main() -> None:
        # Signals come in real time, so nothing here waits for long.
        began, ended = anyio.Event(), list[str]()

        async def work() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append("work")

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            began.set()
            if len(signals) == 2:
                await anyio.sleep_forever()
            return requeue(after=3600)

        async with simulated(sim.Cluster(crds=[Book])) as client:
            await client.api(Book).create(book("a"))
            operator = Operator(signals=True, grace=3600)
            with anyio.fail_after(20):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run, Controller(client, Book).run(reconcile), work)
                    await began.wait()
                    for number, one in enumerate(signals, start=1):
                        os.kill(os.getpid(), one)
                        while len(received()) < number:
                            await anyio.lowlevel.checkpoint()
        assert ended == ["work"]

    anyio.run(main, backend=backend)
    assert received() == [f"{one.name} received" for one in signals]


def test_of_two_operators_with_one_lease_the_second_goes_on_where_the_first_stops(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        first, second = Log(), Log()
        operators: list[Operator] = []
        async with anyio.create_task_group() as tasks:
            for name, log in (("first", first), ("second", second)):
                operator = Operator(election=LeaderElector(client, name="books", identity=name))
                operators.append(operator)
                tasks.start_soon(operator.run, Controller(client, Book).run(log))
                await anyio.sleep(30)
            assert [one.leading for one in operators] == [True, False]
            assert (len(first.lines), second.lines) == (2, [])
            assert operators[1].healthy()[1].endswith("follows first\n")
            operators[0].stop()
            await anyio.sleep(30)
            assert [one.leading for one in operators] == [False, True]
            await client.api(Book).create(book("b"))
            await anyio.sleep(1)
            operators[1].stop()
        assert [line.split()[1] for line in second.lines if "begins" in line] == ["a", "b"]
        assert len(first.lines) == 2

    on(backend, body)
