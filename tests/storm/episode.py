"""One run from its plan to its verdict.

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
from .people import User, happen
from .processes import Follower, Program, Replica
from .trial import Trial

if TYPE_CHECKING:
    from .plan import Backend, Plan

LIVENESS: Final = (
    600.0  # seconds from the last fault to the desired state; backoffs and dead watches take 150
)
# Without bookmarks a dead watch shows by its end alone, which comes after up to ten minutes and a half.
LIVENESS_WITHOUT_BOOKMARKS: Final = 1300.0
SILENCE: Final = 120.0  # seconds for which nothing is written after that
_LOG: Final = logging.getLogger("kubeproto")


class Outcome(Struct, frozen=True, kw_only=True):
    """What a run came to."""

    plan: Plan
    digest: str
    violations: tuple[str, ...]
    counts: dict[str, int]
    struck: tuple[tuple[str, int], ...]
    happened: int
    requests: int
    seconds: float  # of the processor
    transcript: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        """How many things went wrong."""
        return sum(self.counts.values())


def play(plan: Plan, *, keep: bool = False) -> Outcome:
    """Make the run that a plan says."""
    began = time.process_time()
    trial = StormTrial(plan, keep=keep)
    repeats = Repeats(partial(_now, plan.backend), _who, trial.found)
    level, propagates = _LOG.level, _LOG.propagate
    _LOG.addHandler(repeats)
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False
    try:
        run(partial(_storm, trial), plan.backend, plan.seed)
    except Exception as error:
        trial.found(f"the run ended with {type(error).__name__}: {_inner(error)}")
    finally:
        _LOG.removeHandler(repeats)
        _LOG.setLevel(level)
        _LOG.propagate = propagates
    if trial.cluster.watches:
        trial.found(f"{len(trial.cluster.watches)} watches are open after the end")
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
        """All that are alive."""
        return [*self.followers, *self.replicas, *self.users]

    async def sleep(self, seconds: float) -> None:
        """Let time pass in the cluster too, which else stands still while nobody asks it for anything."""
        await anyio.sleep(seconds)
        self.cluster.advance_to(self.begun + anyio.current_time() - self.started)

    def start(self, program: Program) -> None:
        """Run a program beside the others."""
        self.tasks.start_soon(program.run)
        self.networks.append(program.network)

    def new_replica(self, number: int) -> Replica:
        """Start a replica, again if there was one."""
        self.starts[f"replica {number}"] += 1
        replica = Replica(self, f"replica {number}", number, self.starts[f"replica {number}"])
        self.start(replica)
        self.tasks.start_soon(self._restart, replica)
        return replica

    async def _restart(self, replica: Replica) -> None:
        """Do what a kubelet does: start a process that ended by itself again."""
        await replica.ended.wait()
        if replica.failure:
            await self._replace(self.replicas.index(replica), replica.number, 10.0)

    def kill(self, replica: Replica, pause: float) -> None:
        """Kill a replica, and start another in its place a while later."""
        self.resume(replica)
        replica.kill()
        at = self.replicas.index(replica)
        self.tasks.start_soon(self._replace, at, replica.number, pause)

    async def _replace(self, at: int, number: int, pause: float) -> None:
        await self.replicas[at].ended.wait()
        await anyio.sleep(pause)
        if self.replicas[at].ended.is_set() and not self.ending:
            self.replicas[at] = self.new_replica(number)

    def pause(self, replica: Replica, seconds: float) -> None:
        """Stop a replica for a while, where the event loop can do that."""
        loop = self.loop
        if loop is None or replica.paused or replica.network.dead:
            return
        self.count("pause")
        replica.paused = loop.pausing = True
        self.cluster.later(seconds, lambda: self.resume(replica))

    def resume(self, replica: Replica) -> None:
        """Let a replica go on."""
        if replica.paused and self.loop is not None:
            replica.resumed_at = self.time
            self.loop.resume(replica)
            self.loop.pausing = any(one.paused for one in self.replicas)

    @property
    def loop(self) -> StormLoop | None:
        """The event loop, if it can stop processes."""
        if self.plan.backend != "asyncio":
            return None
        found = asyncio.get_running_loop()
        return found if isinstance(found, StormLoop) else None


def _who() -> str:
    process = process_of.get()
    return process.name if isinstance(process, Program) else ""


def _now(backend: Backend) -> float:
    """The time of the event loop: the cluster's own stands still until it has something to do."""
    return trio.current_time() if backend == "trio" else asyncio.get_running_loop().time()


def _inner(error: BaseException) -> str:
    inside: Any = error
    while hasattr(inside, "exceptions"):
        inside = inside.exceptions[0]
    return f"{inside!r}"


async def _storm(trial: StormTrial) -> None:
    before = _alive()
    await _run_programs(trial)
    for _ in range(5):
        await anyio.sleep(0)  # what was told to end in the last moment does
    if (left := _alive() - before) > 0:
        trial.found(f"{left} tasks or timers are left after the end")


def _alive() -> int:
    """How many tasks and timers there are."""
    if sniffio.current_async_library() == "trio":
        return trio.lowlevel.current_statistics().tasks_living
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StormLoop)
    return len(asyncio.all_tasks()) + len(loop.timers)


async def _run_programs(trial: StormTrial) -> None:
    plan = trial.plan
    async with simulated(trial.cluster), anyio.create_task_group() as trial.tasks:
        trial.followers += [Follower(trial, f"follower {at}", one) for at, one in enumerate(plan.followers)]
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
        await trial.sleep(max(0.0, planned.at - trial.time))
        trial.happened += 1
        happen(trial, planned)
    await trial.sleep(max(0.0, trial.plan.duration - trial.time))


async def _calm(trial: StormTrial) -> None:
    """Nothing goes wrong from here on."""
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
        trial.found(f"{limit:g} s after the last fault: {'; '.join(missing)}")
        return
    trial.note(f"the desired state, {trial.time - began:g} s after the last fault")
    changes = trial.oracle.changes
    await trial.sleep(SILENCE)
    if trial.oracle.changes != changes:
        trial.found(f"{trial.oracle.changes - changes} writes in the silence after the desired state")
    _count_requests(trial)


def _missing(trial: StormTrial) -> list[str]:
    """What is not yet as it should be."""
    missing = [f"{one.name} ({one.plan.kind}) is stale" for one in trial.followers if not one.agrees]
    missing += [f"{one.name} still runs" for one in trial.users if not one.ended.is_set()]
    if not trial.plan.replicas:
        return missing
    leaders = [one for one in trial.replicas if one.election.is_leader]
    if len(leaders) != 1:
        return [*missing, f"{len(leaders)} replicas lead"]
    [leader] = leaders
    if not leader.agrees:
        missing.append(f"{leader.name} has a stale cache")
    children = {_key(one): one for one in trial.cluster.objects(ConfigMap)}
    missing += _orphans(trial, children)
    for kind, resource in ((Book, "books.storm.example.com"), (Shelf, "shelves.storm.example.com")):
        for obj in trial.cluster.objects(kind):
            key, version = _key(obj), obj["metadata"]["resourceVersion"]
            if leader.seen.get((resource, key)) != version:
                missing.append(f"{leader.name} has not reconciled {resource} {key} at {version}")
            if "deletionTimestamp" in obj["metadata"]:
                missing.append(f"{resource} {key} is not gone")
            elif kind is Book and children.get(key, {}).get("data") != {"title": obj["spec"]["title"]}:
                missing.append(f"book {key} has no ConfigMap of its title")
            elif kind is Shelf and obj["metadata"]["uid"] not in trial.external:
                missing.append(f"shelf {key} has nothing outside")
    return missing


def _orphans(trial: StormTrial, children: dict[str, dict[str, Any]]) -> list[str]:
    """What the garbage collector has not deleted yet."""
    owners = {one["metadata"]["uid"] for one in trial.cluster.objects(Book)}
    return [
        f"ConfigMap {key} has no owner any more"
        for key, child in children.items()
        if any(one["uid"] not in owners for one in child["metadata"].get("ownerReferences", ()))
    ]


def _key(obj: dict[str, Any]) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _count_requests(trial: StormTrial) -> None:
    """Requests come of faults, of changes, and of time, and of nothing else."""
    made = sum(network.requests - network.leases for network in trial.networks)
    watches = sum(1 for _ in trial.followers) + 3 * sum(trial.starts.values())
    ended = trial.counts["restart"] * watches + trial.counts["backup"] * watches
    # A second fault of one request is no reason for another request.
    allowed = 3 * (trial.faults - trial.besides + trial.oracle.changes + trial.asked) + ended
    allowed += watches * (10 + int(trial.time / 75.0))
    if made > allowed:
        trial.found(f"{made} requests, where {allowed} should do")


async def _end(trial: StormTrial) -> None:
    """Stop everything, and look whether anything is left."""
    trial.ending = True
    for replica in trial.replicas:
        replica.operator.stop()
    with anyio.move_on_after(60):
        for replica in trial.replicas:
            await replica.ended.wait()
    left = [one.name for one in trial.replicas if not one.ended.is_set()]
    if left:
        trial.found(f"60 s after they were stopped, these still run: {left}")
    for program in trial.programs:
        program.scope.cancel()
    with anyio.move_on_after(60):
        for program in trial.programs:
            await program.ended.wait()
    trial.tasks.cancel_scope.cancel()
    await anyio.sleep(0)
