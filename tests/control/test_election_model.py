"""Several candidates compete for a lease: clocks drift, processes pause and die, messages are late or lost.

No two candidates ever act at the same time, and after the faults have ended, a candidate leads.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from asked_examples import examples
from hypothesis import example, given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import Struct
from msgspec.structs import replace

import kubeproto as kp
from kubeproto.control import election
from kubeproto.control.election import (
    CancelRequest,
    Candidate,
    Ended,
    Event,
    Failed,
    LeaseExpired,
    LeaseRead,
    LeaseWritten,
    SendCreate,
    SendGet,
    SendUpdate,
    Started,
    StartLeading,
    State,
    StopLeading,
    Stopped,
    step,
)
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.wire import Broken, Conflicted, Outcome, Refused, Rejected

BLANK: Final = Lease(metadata=kp.ObjectMeta(name="books", namespace="n"))
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
# The fastest clock is 1.45 times as fast as the slowest; the machine is safe up to a ratio of 1.5.
RATES: Final = (0.8, 1.0, 1.16)

Send = SendGet | SendCreate | SendUpdate


class Message(Struct, eq=False):
    """A request on its way to the server, then the response on its way back."""

    sender: Process
    lease: Lease | None  # None: a request that reads the lease
    respond: Event | None = None


class Server:
    """A lease with optimistic concurrency."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.version = 0

    def receive(self, lease: Lease | None) -> Event:
        current_lease = self.lease
        if lease is None:
            return Failed(Refused("not found", 404)) if current_lease is None else LeaseRead(current_lease)
        version = lease.metadata.resource_version
        if not version and current_lease is not None:
            return Failed(Rejected("already exists", 409))
        if version and (current_lease is None or current_lease.metadata.resource_version != version):
            return Failed(Conflicted("changed", 409))
        self.version += 1
        metadata = replace(lease.metadata, resource_version=str(self.version))
        self.lease = replace(lease, metadata=metadata)
        return LeaseWritten(self.lease)


class Process:
    """A driver of the machine with its own clocks. It makes no decisions."""

    def __init__(self, name: str, rate: float) -> None:
        self.candidate = Candidate(lease=BLANK, identity=name)
        self.rate, self.offset, self.skew = rate, 1000.0 * rate, timedelta(hours=len(name))
        self.paused = False
        self.state: State = election.begin(self.candidate)
        self.until = 0.0
        self.planned: Send | None = None
        self.flying: Message | None = None

    def clock(self, time: float) -> float:
        return self.offset + self.rate * time

    def acts(self, time: float) -> bool:
        return self.clock(time) < self.until

    def step(self, event: Event, time: float) -> None:
        self.state, actions = step(self.state, event, self.clock(time))
        for action in actions:
            match action:
                case StartLeading(until):
                    self.until = until
                case StopLeading():
                    self.until = 0.0
                case CancelRequest():
                    self.planned = self.flying = None
                case SendGet() | SendCreate() | SendUpdate():
                    assert self.planned is None
                    assert self.flying is None
                    self.planned = action
                case _:
                    pass


class Simulation:
    """Three processes, a server, and a network that stores messages that no process awaits any more."""

    def __init__(self, rates: tuple[float, ...] = RATES) -> None:
        self.time = 0.0
        self.server = Server()
        self.processes = [Process(f"candidate {n}", rate) for n, rate in enumerate(rates)]
        self.network: list[Message] = []
        for process in self.processes:
            process.step(Started(), 0.0)

    @property
    def acting(self) -> list[str]:
        return [process.candidate.identity for process in self.processes if process.acts(self.time)]

    def send(self, process: Process) -> None:
        planned = process.planned
        if process.paused or planned is None or process.clock(self.time) < planned.earliest:
            return
        wall = EPOCH + process.skew + timedelta(seconds=self.time)
        body = None if isinstance(planned, SendGet) else planned.body(wall)
        process.planned, process.flying = None, Message(process, body)
        self.network.append(process.flying)

    def arrive(self, message: Message) -> None:
        """Deliver the request to the server, perhaps long after its sender has timed out."""
        if message.respond is None:
            message.respond = self.server.receive(message.lease)

    def respond(self, message: Message) -> None:
        process = message.sender
        if message.respond is None or process.paused:
            return
        self.network.remove(message)
        if process.flying is message:
            process.flying = None
            process.step(message.respond, self.time)

    def fail(self, process: Process, outcome: Outcome) -> None:
        """Break the connection on the client's side; a sent request may still arrive."""
        if process.flying is not None and not process.paused:
            process.flying = None
            process.step(Failed(outcome), self.time)

    def time_out(self, process: Process) -> None:
        if process.until and not process.paused and process.clock(self.time) >= process.until:
            process.until = 0.0
            process.step(LeaseExpired(), self.time)

    def stop(self, process: Process) -> None:
        if not process.paused and not isinstance(process.state, Ended):
            process.until = 0.0
            process.step(Stopped(), self.time)

    def restart(self, process: Process) -> None:
        """Restart after an end or a crash: with the same name, and without memory."""
        process.until, process.planned, process.flying, process.paused = 0.0, None, None, False
        process.state = election.begin(process.candidate)
        process.step(Started(), self.time)

    def exchange(self, process: Process) -> None:
        """Complete a due request without any fault."""
        self.time_out(process)
        self.send(process)
        if process.flying is not None:
            self.arrive(process.flying)
            self.respond(process.flying)

    def advance(self, seconds: float) -> None:
        """Let some time pass without faults."""
        end = self.time + seconds
        while self.time < end:
            self.time += 0.25
            for process in self.processes:
                self.exchange(process)
            assert len(self.acting) <= 1

    def recover(self) -> None:
        """After all faults: within two leases a candidate leads, and another candidate if the first stops."""
        for process in self.processes:
            process.paused = False
            self.fail(process, Broken("lost"))
        self.advance(10)  # candidates that were stopping have stopped
        for process in self.processes:
            if isinstance(process.state, Ended):
                self.restart(process)
        self.advance(60)
        [leader] = self.acting
        [first] = [process for process in self.processes if process.candidate.identity == leader]
        self.stop(first)
        assert self.acting == []
        self.advance(15)
        assert len(self.acting) == 1
        assert self.acting != [leader]


class ElectionMachine(RuleBasedStateMachine):
    """Faults of every kind, in any order."""

    @initialize(calm=st.sampled_from([0.0, 10.0]))
    def begin(self, calm: float) -> None:
        self.simulation = Simulation()
        self.simulation.advance(calm)

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0, 2.0, 4.0, 7.0, 9.0, 14.0]))
    def wait(self, seconds: float) -> None:
        self.simulation.time += seconds

    @rule(n=st.integers(0, 2), stage=st.integers(1, 4))
    def work(self, n: int, stage: int) -> None:
        """Advance the request of a candidate to this stage."""
        simulation, process = self.simulation, self.simulation.processes[n]
        simulation.send(process)
        if stage > 1 and process.flying is not None:
            simulation.arrive(process.flying)
            if stage > 2:
                simulation.respond(process.flying)

    @rule(n=st.integers(0, 5), answered=st.booleans())
    def move_a_message(self, n: int, answered: bool) -> None:
        if self.simulation.network:
            message = self.simulation.network[n % len(self.simulation.network)]
            self.simulation.respond(message) if answered else self.simulation.arrive(message)

    @rule(n=st.integers(0, 5))
    def lose_a_message(self, n: int) -> None:
        if self.simulation.network:
            message = self.simulation.network.pop(n % len(self.simulation.network))
            if message.sender.flying is message:
                self.simulation.fail(message.sender, Broken("lost"))
                # the process is paused, and learns of the loss when it resumes
                if message.sender.flying is message:
                    self.simulation.network.append(message)

    @rule(n=st.integers(0, 2))
    def fail(self, n: int) -> None:
        self.simulation.fail(self.simulation.processes[n], Broken("lost"))

    @rule(n=st.integers(0, 2))
    def time_out(self, n: int) -> None:
        self.simulation.time_out(self.simulation.processes[n])

    @rule(n=st.integers(0, 2))
    def pause_or_wake(self, n: int) -> None:
        self.simulation.processes[n].paused ^= True

    @rule(n=st.integers(0, 2))
    def stop(self, n: int) -> None:
        self.simulation.stop(self.simulation.processes[n])

    @rule(n=st.integers(0, 2))
    def restart(self, n: int) -> None:
        self.simulation.restart(self.simulation.processes[n])

    @rule(seconds=st.sampled_from([3.0, 20.0]))
    def advance(self, seconds: float) -> None:
        self.simulation.advance(seconds)

    @invariant()
    def l_01_no_two_act_at_the_same_time(self) -> None:
        if hasattr(self, "simulation"):
            assert len(self.simulation.acting) <= 1

    def teardown(self) -> None:
        if hasattr(self, "simulation"):
            self.simulation.recover()


ElectionMachine.TestCase.settings = settings(max_examples=examples(50), stateful_step_count=50, deadline=None)
TestElectionMachine = ElectionMachine.TestCase


def run_with_faults(simulation: Simulation, rng: Random, steps: int) -> int:
    """Take random steps with faults, and check that no two candidates act at the same time. Return the number
    of changes of the leader.
    """
    changes, leader = 0, list[str]()
    for _ in range(steps):
        process = rng.choice(simulation.processes)
        kind = rng.random()
        simulation.time += rng.choice([0.0, 0.1, 0.3, 1.0]) if kind < 0.97 else rng.uniform(0, 20)
        if kind < 0.40:
            simulation.exchange(process)
        elif kind < 0.55:
            simulation.send(process)
        elif kind < 0.75 and simulation.network:
            simulation.arrive(rng.choice(simulation.network))
        elif kind < 0.85 and simulation.network:
            simulation.respond(rng.choice(simulation.network))
        elif kind < 0.90:
            simulation.fail(process, Broken("lost"))
        elif kind < 0.94:
            process.paused = not process.paused
        elif kind < 0.95:
            simulation.stop(process)
        elif kind < 0.96 or isinstance(process.state, Ended):
            simulation.restart(process)
        else:
            simulation.time_out(process)
        assert len(simulation.acting) <= 1
        if simulation.acting and simulation.acting != leader:
            changes, leader = changes + 1, simulation.acting
    return changes


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32))
@example(seed=581222963)  # two candidates are stopping when the faults end
def test_l_01_under_faults_no_two_candidates_act_at_the_same_time_and_afterwards_a_candidate_leads(
    seed: int,
) -> None:
    simulation = Simulation()
    run_with_faults(simulation, Random(seed), 400)
    simulation.recover()


def test_l_02_the_leader_changes_often_under_faults() -> None:
    assert sum(run_with_faults(Simulation(), Random(seed), 400) for seed in range(10)) > 30


def test_l_03_the_model_detects_clocks_that_drift_too_far() -> None:
    """With a clock twice as fast as another, a candidate takes the lease too early, and the model detects
    it.
    """
    simulation = Simulation((0.5, 1.5))
    slow, fast = simulation.processes
    simulation.exchange(slow)  # reads the lease
    simulation.exchange(slow)  # creates the lease
    assert simulation.acting == ["candidate 0"]
    slow.paused = True
    for _ in range(48):
        simulation.time += 0.25
        simulation.exchange(fast)
    assert simulation.acting == ["candidate 0", "candidate 1"]


def test_l_04_a_leader_without_responses_stops_before_another_can_start() -> None:
    simulation = Simulation()
    simulation.advance(5)
    [name] = simulation.acting
    [leader] = [process for process in simulation.processes if process.candidate.identity == name]
    leader.paused = True
    quiet_from = took_at = 0.0
    while not took_at:
        simulation.time += 0.25
        for process in simulation.processes:
            simulation.exchange(process)
        assert len(simulation.acting) <= 1
        if not simulation.acting and not quiet_from:
            quiet_from = simulation.time
        if simulation.acting and simulation.acting != [name]:
            took_at = simulation.time
    assert 0 < quiet_from < took_at
    leader.paused = False
    simulation.advance(30)
    assert simulation.acting != [name]
