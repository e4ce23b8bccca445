"""`explore`: repeat a scenario with one fault at one write at a time, and compare the results.

    clean run ──► the writes that changed something, the final state
    each write and fault ──► a run of its own ──► the same final state, or a `Difference`

An operator that reconciles towards a desired state ends in the same state whatever happened meanwhile. One
that counts events, or does two things of which the second is lost if it dies in between, does not.

Each run begins again: a cluster can be forked in the middle, the memory of an operator cannot.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct

from ._comparing import comparable_state, state_diff
from ._injecting import (
    INJECTED_FAULTS,
    MAX_WRITES,
    Author,
    InjectedFault,
    Injection,
    ObservedRun,
    ObservedWrite,
    Tap,
)
from ._simulation import Backend, SimulatedClient, run, simulated

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Generator, Iterable

    from kubeproto_sim import Cluster

    from ..client._client import Client

RESTART: Final = 1.0  # seconds until a process that was killed is started again
IGNORED: Final = frozenset(("events", "events.events.k8s.io", "leases.coordination.k8s.io"))
_EVERY: Final = 1.0
_OPERATOR: Final[Author] = "operator"
_WRITES_OF_THE_OPERATOR: Final[tuple[InjectedFault, ...]] = (
    "crash before",
    "lost response",
    "refused",
    "conflict",
)


class Difference(Struct, frozen=True):
    """A fault after which the operator did not reach the state of the clean run."""

    injection: Injection
    write: ObservedWrite
    lines: tuple[str, ...]  # what is different
    transcript: tuple[str, ...]  # the writes of the run, in their order

    def __str__(self) -> str:
        shown = [f"{self.injection.fault} at {self.write}"]
        shown += [f"    {line}" for line in self.lines]
        shown += ["  the writes of this run:", *(f"    {line}" for line in self.transcript)]
        shown += [f"  to see it again: only=[Injection({self.injection.fault!r}, {self.injection.write})]"]
        return "\n".join(shown)


class Exploration(Struct, frozen=True):
    """What an exploration has found."""

    writes: tuple[ObservedWrite, ...]  # of the clean run
    runs: int
    differences: tuple[Difference, ...]

    def check(self) -> None:
        """Raise an `AssertionError` that shows each difference, if there is one."""
        if self.differences:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        changing = sum(write.changed for write in self.writes)
        differing = len(self.differences)
        head = f"{self.runs} runs, each with a fault at one of {changing} writes; {differing} end differently"
        return "\n\n".join([head, *map(str, self.differences)])


def explore(
    operator: Callable[[Client], Awaitable[object]],
    scenario: Callable[[SimulatedClient], Awaitable[object]],
    *,
    cluster: Cluster,
    faults: Collection[InjectedFault] = INJECTED_FAULTS,
    only: Iterable[Injection] | None = None,
    quiet: float = 60.0,
    within: float = 3600.0,
    ignored: Iterable[str] = IGNORED,
    backend: Backend = "asyncio",
) -> Exploration:
    """Run a scenario once as it is, then once for each fault at each write, and compare the final states.

    `operator` makes and runs a new operator each time, with nothing left of the one before; `scenario` does
    what users do, with a client of its own. Both begin on a fork of `cluster`, in virtual time. A run is
    over when nothing has changed for `quiet` seconds after the scenario ended; after `within` seconds it
    counts as one that does not come to rest. `faults` are those that are tried at each write that changed
    something; `only` names the injections themselves, as a `Difference` shows them, and these runs are
    logged. Resources that are `ignored` may differ. Raises ValueError if the clean run fails or does not come
    to rest: then there is nothing to compare with.

    ::

        explore(operator, scenario, cluster=Cluster(crds=[Book])).check()
    """
    settings = _Settings(operator, scenario, cluster, quiet, within, frozenset(ignored), backend)
    clean = _play(settings, None)
    if clean.failure:
        raise ValueError(f"the run without faults {clean.failure}:\n" + "\n".join(clean.transcript))
    injections = list(_injections(clean.writes, faults)) if only is None else list(only)
    differences: list[Difference] = []
    for injection in injections:
        if not 0 < injection.write <= len(clean.writes):
            raise ValueError(f"{injection}: the clean run has {len(clean.writes)} writes")
        with _logged(only is not None):
            outcome = _play(settings, injection)
        lines = [f"the run {outcome.failure}"] if outcome.failure else []
        lines += state_diff(clean.state, outcome.state)
        if lines:
            write = clean.writes[injection.write - 1]
            differences.append(Difference(injection, write, tuple(lines), outcome.transcript))
    return Exploration(clean.writes, len(injections), tuple(differences))


@contextmanager
def _logged(wanted: bool) -> Generator[None]:
    """Log what the runtime does only if it is wanted: each fault of hundreds would print its traceback."""
    log = logging.getLogger("kubeproto")
    level = log.level
    if not wanted:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


class _Settings(Struct, frozen=True):
    operator: Callable[[Client], Awaitable[object]]
    scenario: Callable[[SimulatedClient], Awaitable[object]]
    cluster: Cluster
    quiet: float
    within: float
    ignored: frozenset[str]
    backend: Backend


class _Outcome(Struct, frozen=True):
    state: dict[str, str]
    writes: tuple[ObservedWrite, ...]
    transcript: tuple[str, ...]
    failure: str  # why there is no final state, or empty


def _injections(writes: tuple[ObservedWrite, ...], faults: Collection[InjectedFault]) -> Iterable[Injection]:
    for write in writes:
        if not write.changed:
            continue  # a write without an effect leaves nothing half done
        for fault in faults:
            mine = write.author == _OPERATOR
            if fault in _WRITES_OF_THE_OPERATOR and not mine:
                continue
            if fault == "conflict" and not write.request.startswith(("PUT", "PATCH")):
                continue
            if fault == "lost lease" and not write.leading:
                continue
            yield Injection(fault, write.number)


def _play(settings: _Settings, injection: Injection | None) -> _Outcome:
    observed = ObservedRun(settings.cluster.fork(), injection, settings.ignored)
    failure = run(_run, settings, observed, backend=settings.backend)
    state = comparable_state(observed.cluster, settings.ignored)
    return _Outcome(state, tuple(observed.writes), tuple(observed.lines), failure)


async def _run(settings: _Settings, observed: ObservedRun) -> str:
    """Run a scenario to its end; return why there was none, or nothing."""
    replicas = _Replicas(settings.operator, observed)
    resting = False
    try:
        async with (
            simulated(observed.cluster, faults=Tap(observed, "user")) as user,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(replicas.keep_running)
            await settings.scenario(user)
            resting = await _until_quiet(observed, settings.quiet, settings.within)
            replicas.kill()  # what it would clean up at its end is not part of the run
            tasks.cancel_scope.cancel()
    except Exception as error:
        return f"failed: {_first(error)!r}"
    if len(observed.writes) >= MAX_WRITES:
        return f"sent {MAX_WRITES} writes, and would have gone on"
    return "" if resting else f"did not come to rest within {settings.within:g} s"


async def _until_quiet(observed: ObservedRun, quiet: float, within: float) -> bool:
    end = anyio.current_time() + within
    while anyio.current_time() < end:
        if observed.cluster.now - observed.changed_at >= quiet:
            return True
        await anyio.sleep(_EVERY)
    return False


class _Replicas:
    """An operator that is restarted whenever it is killed."""

    def __init__(self, operator: Callable[[Client], Awaitable[object]], observed: ObservedRun) -> None:
        self._tap: Tap | None = None
        self._operator = operator
        self._observed = observed

    def kill(self) -> None:
        """End the operator as a crash does."""
        if self._tap is not None:
            self._tap.dead = True

    async def keep_running(self) -> None:
        """Run one life after the other. What was killed may clean up, which is not observed."""
        async with anyio.create_task_group() as lives:
            while True:
                killed = anyio.Event()
                tap = self._tap = Tap(self._observed, _OPERATOR)
                scope = anyio.CancelScope()
                self._observed.on_crash = _killer(tap, killed)
                lives.start_soon(self._live, tap, scope)
                await killed.wait()
                scope.cancel()
                await anyio.sleep(RESTART)
                self._observed.note("the operator is started again")

    async def _live(self, tap: Tap, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                async with simulated(self._observed.cluster, faults=tap) as client:
                    await self._operator(client)
                if not tap.dead:
                    raise RuntimeError("the operator has ended by itself")
        except Exception:
            if not tap.dead:
                raise


def _killer(tap: Tap, killed: anyio.Event) -> Callable[[], None]:
    def kill() -> None:
        tap.dead = True
        killed.set()

    return kill


def _first(error: Any) -> BaseException:
    """Return the first error of a group, which says more than the group."""
    found: BaseException = error
    for inner in getattr(error, "exceptions", ())[:1]:
        found = _first(inner)
    return found
