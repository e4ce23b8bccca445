"""`Operator`: runs several controllers in a process, from start to stop.

    outer: health, signals, caches ──────────────────────────────────────────────►│
      inner: sources of each controller ─────────────────────────────────────────►│
        while it leads: the runs of each controller, other work ──► stop ──► grace ►│ end

- All controllers of a client share its caches. They are also filled while another process leads, so that a
  new leader begins without delay.
- After `stop` no run begins; current runs have `grace` seconds to end; then the lease is released. When the
  lease is lost, runs are cancelled immediately, and the process is a candidate again.
- An error in one part ends all other parts, and `run` raises it; several errors are raised as a group. A
  failed reconcile is retried, and ends no part.
"""

from __future__ import annotations

import logging
import signal
import warnings
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
from msgspec import structs

from ..caches._caches import Caches
from ..calls._outgoing import RequestCounts, current_counts
from ..reconciling._controller_runner import ControllerRunner
from ..reconciling._plans import ControllerPlan
from ..tasks._stray_cancellations import only_error, supervise
from ._description import ProgramDescription, describe
from ._election import Election
from ._lease_fence import LeaseFence
from ._operator_status import health, metrics_text, readiness

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ..client._client import Client
    from ..webhooks import WebhookServer
    from ._debug_state import DebugState, SampleHistory


_log: Final = logging.getLogger("kubeproto.operator")
_PROGRAM: Final = f"kubeproto {version('kubeproto')}"
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)  # Kubernetes sends SIGTERM, a terminal SIGINT


class ControllerRun:
    """A controller that is ready to run: await it, or pass it to an `Operator` with other controllers."""

    _used = True  # `__del__` is also called if wrong arguments prevented `__init__`

    def __init__(self, plan: ControllerPlan, election: Election | None = None) -> None:
        self.plan = plan
        self.election = election
        self.started = False
        self._used = False

    def mark_used(self) -> None:
        """Record that an operator will run it. Otherwise it warns when it is garbage-collected."""
        self._used = True

    def __del__(self) -> None:
        if not self._used:
            warnings.warn(
                f"controller {self.plan.name} was never run: await what run() returned,"
                " or give it to an Operator",
                RuntimeWarning,
                stacklevel=1,
            )

    def __repr__(self) -> str:
        return f"ControllerRun({self.plan.name})"

    def __await__(self) -> Generator[Any, Any, None]:
        election, self.election = self.election, None
        self.mark_used()
        return Operator(election=election).run(self).__await__()


OperatorPart: TypeAlias = ControllerRun | Callable[[], Coroutine[Any, Any, None]]
"""A controller, or another function that only the leader runs."""


class Operator:
    """Runs controllers concurrently until stopped; with an election, only while this process leads.

    `port` serves ``/healthz``, ``/readyz``, ``/metrics`` and ``/debug``. The debug page is shown only on this
    machine, unless `debug` is True, and is off if it is False. With port 0 the system chooses a port, and the
    attribute `port` is its number. With `signals`, SIGTERM and SIGINT stop the operator, and a second signal
    cancels it. `grace` is the number of seconds for which runs may continue after a stop. Every process
    serves the `webhooks`, from start to end.
    """

    def __init__(
        self,
        *,
        election: Election | None = None,
        signals: bool = False,
        grace: float = 30.0,
        port: int | None = None,
        host: str | None = None,
        webhooks: WebhookServer | None = None,
        debug: bool | None = None,
    ) -> None:
        self.port = port
        self._debug = debug
        self._started_at: float | None = None
        self._history: SampleHistory | None = None
        self._webhooks = webhooks
        self._election = election
        self._signals = signals
        self._grace = grace
        self._host = host
        self._controllers: dict[str, ControllerRunner] = {}
        self._functions: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._added: list[OperatorPart] = []  # before `run`
        self._caches: dict[Client, Caches] = {}
        self._counts = RequestCounts()
        self._fence = None if election is None else LeaseFence(election)
        self._stages: _Stages | None = None
        self._stopped = False

    async def run(self, *parts: OperatorPart) -> None:
        """Run these parts, and those of `add`, until stopped. Raise the error of a part that fails."""
        for part in parts:
            if isinstance(part, ControllerRun):
                part.mark_used()
        if self._stages is not None:
            raise RuntimeError("this operator has been run already")
        self._stages = stages = _Stages()
        self._started_at = anyio.current_time()
        if self._stopped:
            return
        try:
            with self._task_context():
                await self._run(stages, parts)
        except BaseExceptionGroup as group:
            error = only_error(group)
        else:
            return
        finally:
            for client in self._caches:
                client.counters.remove(self._counts)
        raise error  # outside of `except`, so that the group does not become its context

    def add(self, *parts: OperatorPart) -> None:
        """Run these parts as well: from now on, or when `run` is called."""
        stages = self._stages
        for part in parts:
            if isinstance(part, ControllerRun):
                part.mark_used()
        if stages is None:
            self._added += parts
            return
        if stages.following is None:
            raise RuntimeError("this operator has ended: create another Operator")
        for part in parts:
            with self._task_context():  # whichever task adds them
                self._add(part, stages, stages.following)

    def stop(self) -> None:
        """Begin no more runs, wait for current runs for the grace period, and end."""
        self._stopped = True
        for runner in self._controllers.values():
            runner.stop()
        if self._stages is not None:
            self._stages.stopped.set()
            if not self._stages.busy:
                self._stages.standby.cancel()

    # Status

    @property
    def leading(self) -> bool:
        """Whether controllers of this process reconcile. Without an election this is always True."""
        return self._election is None or self._election.leadership_status.leads

    def healthy(self) -> tuple[bool, str]:
        """Return the response of ``/healthz``: whether every part works, and a line for each part."""
        return health(self._controllers, self._election)

    def ready(self) -> tuple[bool, str]:
        """Return the response of ``/readyz``: whether every cache has synced, and a line for each cache."""
        return readiness(self._controllers, self._webhooks)

    def webhooks_ready(self) -> tuple[bool, str]:
        """Return the response of ``/readyz/webhooks``: whether webhooks are served, and a line.

        It does not wait for the caches: the cache of a kind that a webhook converts needs the webhook first.
        """
        return readiness({}, self._webhooks)

    def metrics(self) -> str:
        """Return the metrics of all controllers and webhooks in Prometheus' text format."""
        return metrics_text(self._controllers, self._election, self._counts, self._webhooks)

    def debug(self) -> DebugState:
        """Return the state that ``/debug`` shows; its history needs a `port`."""
        from ._debug_state import debug_state

        uptime = 0.0 if self._started_at is None else anyio.current_time() - self._started_at
        samples = () if self._history is None else self._history.samples
        return debug_state(_PROGRAM, uptime, self._controllers, self._election, samples)

    @property
    def description(self) -> ProgramDescription:
        """The controllers and other parts, whether they run already or not."""
        added = (part.plan for part in self._added if isinstance(part, ControllerRun))
        running = (controller.plan for controller in self._controllers.values())
        return describe(
            {id(plan): plan for plan in (*added, *running)}.values(), election=self._election,
            health_port=self.port, webhooks=self._webhooks, grace=self._grace,
        )  # fmt: skip

    # Tasks
    @contextmanager
    def _task_context(self) -> Generator[None]:
        """Fence and count the requests of the tasks that are started in this block."""
        token = current_counts.set(self._counts)
        try:
            with self._fence.enclose() if self._fence is not None else nullcontext():
                yield
        finally:
            current_counts.reset(token)

    async def _run(self, stages: _Stages, parts: tuple[OperatorPart, ...]) -> None:
        async with anyio.create_task_group() as stages.outer:
            if self._signals:
                cancel = stages.outer.cancel_scope.cancel
                stages.outer.start_soon(supervise, _handle_signals, self.stop, cancel)
            if self.port is not None:
                # Imported here, because most operators in tests serve no pages, and need no h11.
                from ._health import HealthPages, serve

                pages = HealthPages(self.healthy, self.ready, self.metrics)
                if self._webhooks is not None:
                    pages = structs.replace(pages, webhooks=self.webhooks_ready)
                if self._debug is not False:
                    from ._debug_state import SampleHistory

                    self._history = SampleHistory(self._controllers)
                    stages.outer.start_soon(supervise, self._history.run)
                    pages = structs.replace(pages, debug=self.debug, debug_everywhere=self._debug is True)
                self.port = await stages.outer.start(serve, pages, self._host, self.port)
                _log.info("serving health and metrics on port %d", self.port)
            if self._webhooks is not None:
                # Not awaited: the leader may have to issue the certificate first.
                stages.outer.start_soon(supervise, self._webhooks.run)
                self._functions.append(self._webhooks.certificates.renew)
            async with anyio.create_task_group() as following:
                stages.following = following
                try:
                    self.add(*self._added, *parts)
                    self._log_controllers()
                    await self._lead(stages)
                finally:
                    stages.following = None
                following.cancel_scope.cancel()
            stages.outer.cancel_scope.cancel()

    def _add(self, part: OperatorPart, stages: _Stages, following: TaskGroup) -> None:
        if not isinstance(part, ControllerRun):
            self._functions.append(part)
            if stages.functions is not None:
                stages.functions.start_soon(supervise, part)
            return
        runner = self._create_runner(part, stages)
        following.start_soon(supervise, runner.follow)
        if self._stopped:
            runner.stop()
        elif stages.working is not None:
            stages.working.start_soon(supervise, runner.work)

    def _create_runner(self, run: ControllerRun, stages: _Stages) -> ControllerRunner:
        name = run.plan.name
        if run.started:
            raise RuntimeError(f"controller {name} has been run already")
        if run.election is not None:
            raise ValueError(f"controller {name} has an election of its own: give it to the operator instead")
        if name in self._controllers:
            raise ValueError(f"there are two controllers {name!r}: give one of them another name")
        run.started = True
        caches = self._caches_of(run.plan.client, stages)
        leads = None if self._election is None else _leads(self._election)
        runner = self._controllers[name] = ControllerRunner(run.plan, caches, leads)
        return runner

    def _caches_of(self, client: Client, stages: _Stages) -> Caches:
        caches = self._caches.get(client)
        if caches is None:
            if stages.outer is None:
                raise RuntimeError("this operator does not run")
            client.counters.append(self._counts)
            caches = self._caches[client] = Caches(client)
            stages.outer.start_soon(supervise, _keep_open, caches)
        return caches

    def _log_controllers(self) -> None:
        kinds = ", ".join(
            f"{controller.plan.resource} in {_scope_text(controller.plan)}"
            for controller in self._controllers.values()
        )
        _log.info("%s runs controllers of %s", _PROGRAM, kinds or "nothing")

    async def _lead(self, stages: _Stages) -> None:
        with stages.standby:
            if self._election is None:
                await self._work()
            else:
                _log.info("waiting as a candidate for the lease %s", self._election.name)
                await self._election.run(self._work)

    async def _work(self) -> None:
        """Run the controllers and the functions: only the leader does."""
        stages = self._stages
        if stages is None or self._stopped:
            return
        stages.busy, drained = True, False
        try:
            with anyio.CancelScope() as scope:
                await self._run_as_leader(stages, scope)
            drained = True
        finally:
            stages.busy = False
            if stages.stopped.is_set() and not (drained and self.leading):
                # The lease was lost while the runs were ending. A stopped process must not lead again.
                stages.standby.cancel()
        if scope.cancelled_caught:
            _log.warning("runs had not ended within %g s and were cancelled", self._grace)
        else:
            _log.info("drained: every run has ended")

    async def _run_as_leader(self, stages: _Stages, scope: anyio.CancelScope) -> None:
        async with anyio.create_task_group() as functions:
            async with anyio.create_task_group() as working:
                stages.functions, stages.working = functions, working
                try:
                    for function in self._functions:
                        functions.start_soon(supervise, function)
                    for runner in self._controllers.values():
                        working.start_soon(supervise, runner.work)
                    await stages.stopped.wait()
                    running = sum(controller.queue.running for controller in self._controllers.values())
                    _log.info("stopping: %d runs may end within %g s, and none begins", running, self._grace)
                    scope.deadline = anyio.current_time() + self._grace
                finally:
                    # Parts that are added from now on begin in the next term: on asyncio, a cancelled group
                    # that contains only shielded tasks does not cancel new tasks.
                    stages.functions = stages.working = None
            functions.cancel_scope.cancel()


class _Stages:
    """The nested scopes of a running operator."""

    def __init__(self) -> None:
        self.outer: TaskGroup | None = None
        self.following: TaskGroup | None = None
        self.functions: TaskGroup | None = None
        self.working: TaskGroup | None = None
        self.busy = False  # whether this process does the work of a leader
        self.standby = anyio.CancelScope()
        self.stopped = anyio.Event()


def _leads(election: Election) -> Callable[[], bool]:
    return lambda: election.leadership_status.leads


async def _keep_open(caches: Caches) -> None:
    async with caches:
        await anyio.sleep_forever()


def _scope_text(plan: ControllerPlan) -> str:
    if not plan.resource.namespaced:
        return "the cluster"
    names = [namespace for namespace in plan.sources[0].namespaces if isinstance(namespace, str)]
    return f"namespace {', '.join(names)}" if names else "all namespaces"


async def _handle_signals(stop: Callable[[], None], cancel: Callable[[], None]) -> None:
    """Stop on the first signal, and cancel on the second. Needs the main thread."""
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        handle = stop
        async for number in signals:
            _log.info("%s received", signal.Signals(number).name)
            handle()
            handle = cancel
