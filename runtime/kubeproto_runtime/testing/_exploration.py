"""`explore`: repeat a scenario with a fault at each write in turn, and compare the results.

    clean run ──► the writes with an effect, the final state
    each write and fault ──► a run of its own ──► the same final state, or a `Difference`

An operator that reconciles towards a desired state ends in the same state after any fault. An operator that
counts events, or loses the second of two actions if it dies in between, does not.

Each run repeats the scenario from its start: a cluster can be forked in the middle, the memory of an operator
cannot.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct

from ._fault_injection import (
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
from ._state_comparison import comparable_state, state_diff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Generator, Iterable

    from kubeproto_sim import Cluster

    from ..client._client import Client

RESTART: Final = 1.0  # seconds until a killed process is restarted
IGNORED: Final = frozenset(("events", "events.events.k8s.io", "leases.coordination.k8s.io"))
_CHECK: Final = 1.0
_OPERATOR: Final[Author] = "operator"
_OPERATOR_FAULTS: Final[tuple[InjectedFault, ...]] = (
    "crash before",
    "lost response",
    "refused",
    "conflict",
)


class Difference(Struct, frozen=True):
    """A fault after which the operator did not reach the state of the clean run."""

    injection: Injection
    write: ObservedWrite
    lines: tuple[str, ...]  # the differences
    transcript: tuple[str, ...]  # the writes of the run, in their order

    def __str__(self) -> str:
        lines = [f"{self.injection.fault} at {self.write}"]
        lines += [f"    {line}" for line in self.lines]
        lines += ["  the writes of this run:", *(f"    {line}" for line in self.transcript)]
        lines += [f"  to repeat it: only=[Injection({self.injection.fault!r}, {self.injection.write})]"]
        return "\n".join(lines)


class Exploration(Struct, frozen=True):
    """The result of an exploration."""

    writes: tuple[ObservedWrite, ...]  # of the clean run
    runs: int
    differences: tuple[Difference, ...]

    def check(self) -> None:
        """Raise an `AssertionError` with the differences, if there are any."""
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
    """Run a scenario without faults, then once for each fault at each write, and compare the final states.

    `operator` creates and runs a new operator, which must share nothing with the previous one; `scenario`
    acts as the users, with its own client. Each run begins on a fork of `cluster`, in virtual time. It ends
    when nothing has changed for `quiet` seconds after the scenario; after `within` seconds it has failed to
    settle. `faults` are injected at each write with an effect. `only` has the injections of some runs, as a
    `Difference` prints them, and these runs are logged. Resources that are `ignored` may differ. Raises
    ValueError if the clean run fails or does not settle: then there is nothing to compare with.

    ::

        explore(operator, scenario, cluster=Cluster(crds=[Book])).check()
    """
    settings = _Settings(operator, scenario, cluster, quiet, within, frozenset(ignored), backend)
    clean = _run_with(settings, None)
    if clean.failure:
        raise ValueError(f"the run without faults {clean.failure}:\n" + "\n".join(clean.transcript))
    injections = list(_injections(clean.writes, faults)) if only is None else list(only)
    differences: list[Difference] = []
    for injection in injections:
        if not 0 < injection.write <= len(clean.writes):
            raise ValueError(f"{injection}: the clean run has {len(clean.writes)} writes")
        with _logging(only is not None):
            outcome = _run_with(settings, injection)
        lines = [f"the run {outcome.failure}"] if outcome.failure else []
        lines += state_diff(clean.state, outcome.state)
        if lines:
            write = clean.writes[injection.write - 1]
            differences.append(Difference(injection, write, tuple(lines), outcome.transcript))
    return Exploration(clean.writes, len(injections), tuple(differences))


@contextmanager
def _logging(enabled: bool) -> Generator[None]:
    """Enable or disable the log of the runtime: hundreds of runs would print a traceback for each fault."""
    log = logging.getLogger("kubeproto")
    level = log.level
    if not enabled:
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
    failure: str  # why there is no final state; empty if there is one


def _injections(writes: tuple[ObservedWrite, ...], faults: Collection[InjectedFault]) -> Iterable[Injection]:
    for write in writes:
        if not write.changed:
            continue  # a write without an effect cannot be half done
        for fault in faults:
            if fault in _OPERATOR_FAULTS and write.author != _OPERATOR:
                continue
            if fault == "conflict" and not write.request.startswith(("PUT", "PATCH")):
                continue
            if fault == "lost lease" and not write.leading:
                continue
            yield Injection(fault, write.number)


def _run_with(settings: _Settings, injection: Injection | None) -> _Outcome:
    observed = ObservedRun(settings.cluster.fork(), injection, settings.ignored)
    failure = run(_run_scenario, settings, observed, backend=settings.backend)
    state = comparable_state(observed.cluster, settings.ignored)
    return _Outcome(state, tuple(observed.writes), tuple(observed.lines), failure)


async def _run_scenario(settings: _Settings, observed: ObservedRun) -> str:
    """Run a scenario to its end; return why it did not settle, empty if it did."""
    replicas = _Replicas(settings.operator, observed)
    settled = False
    try:
        async with (
            simulated(observed.cluster, faults=Tap(observed, "user")) as user,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(replicas.keep_running)
            await settings.scenario(user)
            settled = await _until_quiet(observed, settings.quiet, settings.within)
            replicas.kill()  # its cleanup is not part of the run
            tasks.cancel_scope.cancel()
    except Exception as error:
        return f"failed: {_first_error(error)!r}"
    if len(observed.writes) >= MAX_WRITES:
        return f"sent {MAX_WRITES} writes, and would have continued"
    return "" if settled else f"did not settle within {settings.within:g} s"


async def _until_quiet(observed: ObservedRun, quiet: float, within: float) -> bool:
    end = anyio.current_time() + within
    while anyio.current_time() < end:
        if observed.cluster.now - observed.changed_at >= quiet:
            return True
        await anyio.sleep(_CHECK)
    return False


class _Replicas:
    """An operator that is restarted after each crash."""

    def __init__(self, operator: Callable[[Client], Awaitable[object]], observed: ObservedRun) -> None:
        self._tap: Tap | None = None
        self._operator = operator
        self._observed = observed

    def kill(self) -> None:
        """End the operator as a crash does."""
        if self._tap is not None:
            self._tap.dead = True

    async def keep_running(self) -> None:
        """Run one process after the other. A killed process may clean up, without effect on the cluster."""
        async with anyio.create_task_group() as processes:
            while True:
                killed = anyio.Event()
                tap = self._tap = Tap(self._observed, _OPERATOR)
                scope = anyio.CancelScope()
                self._observed.on_crash = _killer(tap, killed)
                processes.start_soon(self._run_process, tap, scope)
                await killed.wait()
                scope.cancel()
                await anyio.sleep(RESTART)
                self._observed.log("the operator is restarted")

    async def _run_process(self, tap: Tap, scope: anyio.CancelScope) -> None:
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


def _first_error(error: Any) -> BaseException:
    """Return the first error of a group: its message is more specific than that of the group."""
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    first: BaseException = error
    return first
