"""A run from its plan to its verdict.

storm ── faults, writes, happenings ──► calm ── the desired state, in time ──► silence ──► the end
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import sniffio
import trio
from msgspec import Struct

from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime.testing import simulated

from .kinds import Book, Shelf
from .loop import StormLoop, process_of, run
from .network import Network
from .oracle import Repeats
from .people import User, perform
from .processes import Follower, Program, Replica
from .trial import Trial

if TYPE_CHECKING:
    from .plan import Backend, Plan

LIVENESS: Final = (
    600.0  # seconds from the last fault to the desired state; backoffs and dead watches take 150
)
# Without bookmarks a dead watch is detected only by its end, after up to ten and a half minutes.
LIVENESS_WITHOUT_BOOKMARKS: Final = 1300.0
SILENCE: Final = 120.0  # seconds without writes after that
_LOG: Final = logging.getLogger("kubeproto")


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of a run."""

    plan: Plan
    digest: str
    violations: tuple[str, ...]
    counts: dict[str, int]
    struck: tuple[tuple[str, int], ...]
    happened: int
    requests: int
    seconds: float  # of CPU time
    transcript: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        """The number of faults."""
        return sum(self.counts.values())


def play(plan: Plan, *, keep: bool = False) -> Outcome:
    """Make the run of a plan."""
    began = time.process_time()
    trial = StormTrial(plan, keep=keep)
    repeats = Repeats(partial(_now, plan.backend), _current_program, trial.report_violation)
    level, propagates = _LOG.level, _LOG.propagate
    _LOG.addHandler(repeats)
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False
    try:
        run(partial(_run_storm, trial), plan.backend, plan.seed)
    except Exception as error:
        trial.report_violation(f"the run ended with {type(error).__name__}: {_inner(error)}")
    finally:
        _LOG.removeHandler(repeats)
        _LOG.setLevel(level)
        _LOG.propagate = propagates
    if trial.cluster.watches:
        trial.report_violation(f"{len(trial.cluster.watches)} watches are open after the end")
    return Outcome(
        plan=plan,
        digest=trial.digest,
        violations=tuple(trial.violations),
        counts=dict(trial.counts),
        struck=tuple(trial.struck),
        happened=trial.happened,
        requests=sum(network.requests for network in trial.networks),
        seconds=time.process_time() - began,
        transcript=tuple(trial.transcript or ()),
    )


class StormTrial(Trial):
    """A trial with its programs."""

    def __init__(self, plan: Plan, *, keep: bool) -> None:
        super().__init__(plan, keep=keep)
        self.users: list[User] = []
        self.networks: list[Network] = []
        self.starts = Counter[str]()
        self.happened = 0
        self.ending = False
        self.tasks: Any = None
        self.started = 0.0

    @property
    def programs(self) -> list[Program]:
        """Return all running programs."""
        return [*self.followers, *self.replicas, *self.users]

    async def sleep(self, seconds: float) -> None:
        """Advance the time of the cluster as well, which only advances with requests."""
        await anyio.sleep(seconds)
        self.cluster.advance_to(self.start_time + anyio.current_time() - self.started)

    def start(self, program: Program) -> None:
        """Run a program in the background."""
        self.tasks.start_soon(program.run)
        self.networks.append(program.network)

    def new_replica(self, number: int) -> Replica:
        """Start a replica, or start it again."""
        self.starts[f"replica {number}"] += 1
        replica = Replica(self, f"replica {number}", number, self.starts[f"replica {number}"])
        self.start(replica)
        self.tasks.start_soon(self._restart, replica)
        return replica

    async def _restart(self, replica: Replica) -> None:
        """Restart a process that ended by itself, as a kubelet does."""
        await replica.finished.wait()
        if replica.failure:
            await self._replace(self.replicas.index(replica), replica.number, 10.0)

    def kill(self, replica: Replica, pause: float) -> None:
        """Kill a replica, and start another in its place later."""
        self.resume(replica)
        replica.kill()
        index = self.replicas.index(replica)
        self.tasks.start_soon(self._replace, index, replica.number, pause)

    async def _replace(self, index: int, number: int, pause: float) -> None:
        await self.replicas[index].finished.wait()
        await anyio.sleep(pause)
        if self.replicas[index].finished.is_set() and not self.ending:
            self.replicas[index] = self.new_replica(number)

    def pause(self, replica: Replica, seconds: float) -> None:
        """Pause a replica for some time, if the event loop supports that."""
        loop = self.loop
        if loop is None or replica.paused or replica.network.dead:
            return
        self.count("pause")
        replica.paused = loop.pausing = True
        self.cluster.later(seconds, lambda: self.resume(replica))

    def resume(self, replica: Replica) -> None:
        """Resume a replica."""
        if replica.paused and self.loop is not None:
            replica.resumed_at = self.time
            self.loop.resume(replica)
            self.loop.pausing = any(other.paused for other in self.replicas)

    @property
    def loop(self) -> StormLoop | None:
        """The event loop, if it can pause processes."""
        if self.plan.backend != "asyncio":
            return None
        running_loop = asyncio.get_running_loop()
        return running_loop if isinstance(running_loop, StormLoop) else None


def _current_program() -> str:
    process = process_of.get()
    return process.name if isinstance(process, Program) else ""


def _now(backend: Backend) -> float:
    """Return the time of the event loop: the cluster's own time advances only when it acts."""
    return trio.current_time() if backend == "trio" else asyncio.get_running_loop().time()


def _inner(error: BaseException) -> str:
    inside: Any = error
    while hasattr(inside, "exceptions"):
        inside = inside.exceptions[0]
    return f"{inside!r}"


async def _run_storm(trial: StormTrial) -> None:
    initial_tasks = _alive()
    await _run_programs(trial)
    for _ in range(5):
        await anyio.sleep(0)  # tasks that were cancelled at the last moment end now
    if (remaining_tasks := _alive() - initial_tasks) > 0:
        trial.report_violation(f"{remaining_tasks} tasks or timers are left after the end")


def _alive() -> int:
    """Return the number of tasks and timers."""
    if sniffio.current_async_library() == "trio":
        return trio.lowlevel.current_statistics().tasks_living
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StormLoop)
    return len(asyncio.all_tasks()) + len(loop.timers)


async def _run_programs(trial: StormTrial) -> None:
    plan = trial.plan
    async with simulated(trial.cluster), anyio.create_task_group() as trial.tasks:
        trial.followers += [
            Follower(trial, f"follower {index}", follower_plan)
            for index, follower_plan in enumerate(plan.followers)
        ]
        trial.users += [User(trial, f"user {number}") for number in range(plan.users)]
        for program in [*trial.followers, *trial.users]:
            trial.start(program)
        trial.replicas += [trial.new_replica(number) for number in range(plan.replicas)]
        await _happenings(trial)
        await _calm(trial)
        await _judge(trial)
        await _end(trial)


async def _happenings(trial: StormTrial) -> None:
    trial.started = anyio.current_time()
    for planned in trial.plan.events:
        await trial.sleep(max(0.0, planned.time - trial.time))
        trial.happened += 1
        perform(trial, planned)
    await trial.sleep(max(0.0, trial.plan.duration - trial.time))


async def _calm(trial: StormTrial) -> None:
    """End all faults."""
    trial.note("calm")
    trial.calm = True
    trial.cluster.lag = 0
    for program in trial.programs:
        program.network.refuses_until = program.network.behind_until = 0.0
        if program.provider is not None:
            program.provider.calm = True
    for replica in trial.replicas:
        trial.resume(replica)


async def _judge(trial: StormTrial) -> None:
    began, limit = trial.time, LIVENESS if trial.plan.modes.bookmarks else LIVENESS_WITHOUT_BOOKMARKS
    while (missing := _missing(trial)) and trial.time < began + limit:
        await trial.sleep(5.0)
    if missing:
        trial.report_violation(f"{limit:g} s after the last fault: {'; '.join(missing)}")
        return
    trial.note(f"the desired state, {trial.time - began:g} s after the last fault")
    changes = trial.oracle.changes
    await trial.sleep(SILENCE)
    if trial.oracle.changes != changes:
        trial.report_violation(
            f"{trial.oracle.changes - changes} writes in the silence after the desired state"
        )
    _count_requests(trial)


def _missing(trial: StormTrial) -> list[str]:
    """Return the differences from the desired state."""
    missing = [f"{item.name} ({item.plan.kind}) is stale" for item in trial.followers if not item.agrees]
    missing += [f"{item.name} still runs" for item in trial.users if not item.finished.is_set()]
    if not trial.plan.replicas:
        return missing
    leaders = [item for item in trial.replicas if item.election.is_leader]
    if len(leaders) != 1:
        return [*missing, f"{len(leaders)} replicas lead"]
    [leader] = leaders
    if not leader.agrees:
        missing.append(f"{leader.name} has a stale cache")
    children = {_key(item): item for item in trial.cluster.objects(ConfigMap)}
    missing += _orphans(trial, children)
    for kind, resource in ((Book, "books.storm.example.com"), (Shelf, "shelves.storm.example.com")):
        for obj in trial.cluster.objects(kind):
            key, version = _key(obj), obj["metadata"]["resourceVersion"]
            if leader.reconciled_versions.get((resource, key)) != version:
                missing.append(f"{leader.name} has not reconciled {resource} {key} at {version}")
            if "deletionTimestamp" in obj["metadata"]:
                missing.append(f"{resource} {key} is not gone")
            elif kind is Book and children.get(key, {}).get("data") != {"title": obj["spec"]["title"]}:
                missing.append(f"book {key} has no ConfigMap of its title")
            elif kind is Shelf and obj["metadata"]["uid"] not in trial.external:
                missing.append(f"shelf {key} has nothing outside")
    return missing


def _orphans(trial: StormTrial, children: dict[str, dict[str, Any]]) -> list[str]:
    """Return the objects that the garbage collector has not deleted yet."""
    owners = {item["metadata"]["uid"] for item in trial.cluster.objects(Book)}
    return [
        f"ConfigMap {key} has no owner any more"
        for key, child in children.items()
        if any(item["uid"] not in owners for item in child["metadata"].get("ownerReferences", ()))
    ]


def _key(obj: dict[str, Any]) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _count_requests(trial: StormTrial) -> None:
    """Check that every request is caused by a fault, a change or the passing of time."""
    sent_requests = sum(network.requests - network.leases for network in trial.networks)
    watches = sum(1 for _ in trial.followers) + 3 * sum(trial.starts.values())
    rewatches = trial.counts["restart"] * watches + trial.counts["backup"] * watches
    # A second fault of the same request is no reason for another request.
    allowed = 3 * (trial.faults - trial.besides + trial.oracle.changes + trial.user_requests) + rewatches
    allowed += watches * (10 + int(trial.time / 75.0))
    if sent_requests > allowed:
        trial.report_violation(f"{sent_requests} requests, where {allowed} should do")


async def _end(trial: StormTrial) -> None:
    """Stop everything, and check that nothing remains."""
    trial.ending = True
    for replica in trial.replicas:
        replica.operator.stop()
    with anyio.move_on_after(60):
        for replica in trial.replicas:
            await replica.finished.wait()
    running = [replica.name for replica in trial.replicas if not replica.finished.is_set()]
    if running:
        trial.report_violation(f"60 s after they were stopped, these still run: {running}")
    for program in trial.programs:
        program.scope.cancel()
    with anyio.move_on_after(60):
        for program in trial.programs:
            await program.finished.wait()
    trial.tasks.cancel_scope.cancel()
    await anyio.sleep(0)
