"""`explore`: repeats a scenario with a fault at each write in turn, and compares the final states.

    clean run ──► writes with an effect, final state
    each write and fault ──► a separate run ──► the same final state, or a `Difference`

An operator that reconciles towards a desired state reaches the same state after any fault. An operator that
counts events, or forgets the second of two actions after a crash between them, does not.

Each run repeats the scenario from its start, because the memory of an operator cannot be forked like a
cluster.
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

RESTART_DELAY: Final = 1.0  # seconds
IGNORED: Final = frozenset(("events", "events.events.k8s.io", "leases.coordination.k8s.io"))
_CHECK_INTERVAL: Final = 1.0  # seconds
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
    lines: tuple[str, ...]  # the differing lines of the final state
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
        count = sum(write.changed for write in self.writes)
        differing = len(self.differences)
        summary = f"{self.runs} runs, each with a fault at one of {count} writes; {differing} end differently"
        return "\n\n".join([summary, *map(str, self.differences)])


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

    `operator` creates and runs a new operator, which must not share state with the previous operator.
    `scenario` acts as the users, with its own client. Each run begins on a fork of `cluster`, in virtual
    time. It ends when nothing has changed for `quiet` seconds after the scenario; it fails if this does not
    happen within `within` seconds. `faults` are injected at each write with an effect. `only` limits the runs
    to some injections, as a `Difference` prints them, and enables the log of these runs. Resources in
    `ignored` are not compared. Raise ValueError if the clean run fails or does not settle.

    ::

        explore(operator, scenario, cluster=Cluster(crds=[Book])).check()
    """
    settings = _Settings(operator, scenario, cluster, quiet, within, frozenset(ignored), backend)
    clean_run = _run_with(settings, None)
    if clean_run.failure:
        raise ValueError(f"the run without faults {clean_run.failure}:\n" + "\n".join(clean_run.transcript))
    injections = list(_choose_injections(clean_run.writes, faults)) if only is None else list(only)
    differences: list[Difference] = []
    for injection in injections:
        if not 0 < injection.write <= len(clean_run.writes):
            raise ValueError(f"{injection}: the clean run has {len(clean_run.writes)} writes")
        with _log_enabled(only is not None):
            outcome = _run_with(settings, injection)
        lines = [f"the run {outcome.failure}"] if outcome.failure else []
        lines += state_diff(clean_run.state, outcome.state)
        if lines:
            write = clean_run.writes[injection.write - 1]
            differences.append(Difference(injection, write, tuple(lines), outcome.transcript))
    return Exploration(clean_run.writes, len(injections), tuple(differences))


@contextmanager
def _log_enabled(enabled: bool) -> Generator[None]:
    """Disable the log of the runtime unless `enabled`: hundreds of runs log a traceback for each fault."""
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
    failure: str  # the reason why there is no final state, or empty


def _choose_injections(
    writes: tuple[ObservedWrite, ...], faults: Collection[InjectedFault]
) -> Iterable[Injection]:
    for write in writes:
        if not write.changed:
            continue  # a fault at a write without an effect cannot change the final state
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
    """Run a scenario to its end. Return the reason why it did not settle, or an empty string."""
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
            replicas.kill()  # the cleanup of the operator is not a part of the run
            tasks.cancel_scope.cancel()
    except Exception as error:
        return f"failed: {_first_error(error)!r}"
    if len(observed.writes) >= MAX_WRITES:
        return f"sent {MAX_WRITES} writes, and would have continued"
    return "" if settled else f"did not settle within {settings.within:g} s"


async def _until_quiet(observed: ObservedRun, quiet: float, within: float) -> bool:
    deadline = anyio.current_time() + within
    while anyio.current_time() < deadline:
        if observed.cluster.now - observed.changed_at >= quiet:
            return True
        await anyio.sleep(_CHECK_INTERVAL)
    return False


class _Replicas:
    """An operator that is restarted after each crash."""

    def __init__(self, operator: Callable[[Client], Awaitable[object]], observed: ObservedRun) -> None:
        self._tap: Tap | None = None
        self._operator = operator
        self._observed = observed

    def kill(self) -> None:
        """Kill the operator, so that it sends and receives nothing more."""
        if self._tap is not None:
            self._tap.dead = True

    async def keep_running(self) -> None:
        """Run one process after another. A killed process may clean up, without effect on the cluster."""
        async with anyio.create_task_group() as processes:
            while True:
                killed = anyio.Event()
                tap = self._tap = Tap(self._observed, _OPERATOR)
                scope = anyio.CancelScope()
                self._observed.on_crash = _make_killer(tap, killed)
                processes.start_soon(self._run_process, tap, scope)
                await killed.wait()
                scope.cancel()
                await anyio.sleep(RESTART_DELAY)
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


def _make_killer(tap: Tap, killed: anyio.Event) -> Callable[[], None]:
    def kill() -> None:
        tap.dead = True
        killed.set()

    return kill


def _first_error(error: Any) -> BaseException:
    """Return the first error of a group, whose message is more specific than the message of the group."""
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    first: BaseException = error
    return first
