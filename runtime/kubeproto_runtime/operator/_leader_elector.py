"""`LeaderElector`: runs a function only while this process leads, as `kubeproto.control.election` decides.

::

    the election, shielded ── requests ──► the server
        │ StartLeading(until): the work begins, or may continue until this time
        │ StopLeading, or the time has passed: the work is cancelled
        ▼
    the work, in the task that called `run`

The lease is renewed until the work has ended, also after a cancellation, as long as the server allows it. So
no other process leads before the work has ended. Then the lease is released.

The errors of `on_leader` are logged, including cancellations that belong to no scope. An error that ends a
process (SystemExit, KeyboardInterrupt, GeneratorExit and others that are no `Exception`) cancels the work,
and is raised after the lease has been released. If it were raised in the task of the election, it would end
the election first, and no process would lead until the lease expires.
"""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Final

import anyio

from kubeproto import AlreadyExists, Conflict, NotFound, ObjectMeta
from kubeproto.control import election
from kubeproto.wire import NO_RETRIES

from ..calls._outcome_errors import OUTCOMES, outcome_of
from ..calls._outgoing import current_counts, current_fence
from ..client._client import Client
from ..tasks._error_texts import error_text, log_failure
from ..tasks._logged_lines import LoggedLines
from ..tasks._stray_cancellations import failure_types, supervise
from ._lease_candidate import CoordinatedElection, keep_candidacy
from ._lease_clocks import LoopClock, MonotonicClock, default_clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from kubeproto.kinds.coordination_v1 import Lease
    from kubeproto.requests import Request

    _Send: TypeAlias = election.SendGet | election.SendCreate | election.SendUpdate

# Seconds. A process must end even if the server does not respond; the lease then expires.
_RELEASE_TIMEOUT: Final = 5.0
_MIN_TIMEOUT: Final = 1.0
_LONG_DURATION: Final = 3600  # seconds; nobody takes over sooner if the holder ends without a release

_log: Final = logging.getLogger("kubeproto.leading")


class LeaderElector:
    """A candidate for a Lease. The Lease and the defaults are compatible with Go's clients.

    `identity` is the name of this process among the candidates, usually the name of its pod. For
    `lease_duration`, `renew_deadline` and `retry_period` see `election.Candidate`, which rejects impossible
    combinations. `on_leader` is called with the identity of each new leader, or "" if there is none. `clock`
    measures the term; the default clock continues while the machine is suspended, unless the event loop
    simulates time. With `coordinated` the server chooses the leader, if its feature gate is on.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str,
        namespace: str = "",
        identity: str,
        lease_duration: int = 15,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        release: bool = True,
        coordinated: CoordinatedElection | None = None,
        on_leader: Callable[[str], object] | None = None,
        clock: MonotonicClock | None = None,
    ) -> None:
        from kubeproto.kinds.coordination_v1 import Lease

        self.clock: MonotonicClock = clock or LoopClock()
        self._has_own_clock = clock is not None
        self._on_leader = on_leader
        self._candidate = election.Candidate(
            lease=Lease(metadata=ObjectMeta(name=name, namespace=namespace or client.namespace)),
            identity=identity,
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
            release=release,
            coordinated=coordinated is not None,
        )
        self._coordinated = coordinated
        self._client = _election_client(client, renew_deadline)
        self._api = self._client.requests(Lease, namespace=self._candidate.lease.metadata.namespace)
        self._running = False
        self._end_reason = ""
        self._ended_at: float | None = None
        self._work_scope = anyio.CancelScope()
        self._exchange = anyio.CancelScope()
        self._planned_changed = anyio.Event()
        self._reset()

    def _reset(self) -> None:
        self._standby = anyio.CancelScope()
        self._fatal: BaseException | None = None  # raised by `on_leader`
        self._logged_failures: dict[type[_Send], str] = {}
        self._lines = LoggedLines()
        self._state: election.State = election.begin(self._candidate)
        self._leads_until: float | None = None
        self._holds_until = -inf  # the end of the last term, unless another process has taken the lease
        self._leads = anyio.Event()
        self._planned: _Send | None = None

    def __repr__(self) -> str:
        return f"<{self._candidate.identity}, a candidate for {self.name}>"

    @property
    def name(self) -> str:
        """The namespace and name of the lease, as ``namespace/name``."""
        meta = self._candidate.lease.metadata
        return f"{meta.namespace}/{meta.name}"

    @property
    def lease_name(self) -> str:
        """The name of the lease, without its namespace."""
        return self._candidate.lease.metadata.name

    @property
    def is_leader(self) -> bool:
        """Whether this process leads at this moment."""
        return self.leadership_status.leads

    @property
    def holds(self) -> bool:
        """Whether this process holds the lease: it has not expired by the local clock, and nobody took it.

        It is held for longer than the term: cancelled work may clean up until the lease expires.
        """
        candidate = self._candidate
        return self.clock.now() < self._holds_until + candidate.lease_duration - candidate.renew_deadline

    @property
    def leadership_status(self) -> election.LeadershipStatus:
        """Whether this process leads, the leader, and the health of the election."""
        return election.leadership_status(self._state, self.clock.now())

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Take part in the election, and run `work` in each term.

        It returns when `work` returns, and releases the lease then and when cancelled. If the lease is lost,
        `work` is cancelled, and should end before the lease expires: within five seconds by default.
        """
        if self._running:
            raise RuntimeError(f"{self!r} is running already")
        self._running = True
        try:
            await self._run(work)
        finally:
            self._running = False
            self._state = election.Ended(self._candidate)

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        if not self._has_own_clock:
            self.clock = default_clock()
        self._reset()
        error: BaseException | None = None
        async with anyio.create_task_group() as tasks:
            shield = anyio.CancelScope(shield=True)
            self._advance(election.Started())
            tasks.start_soon(supervise, self._take_part, shield)
            try:
                with self._standby:
                    await self._work(work)
            except Exception as raised:  # raised below, without the exception group
                error = raised
            finally:
                self._advance(election.Stopped())
                shield.deadline = anyio.current_time() + _RELEASE_TIMEOUT
        if (error := self._fatal or error) is not None:
            raise error

    # The work

    async def _work(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._leads.wait()
            started_at = anyio.current_time()
            with anyio.CancelScope() as self._work_scope:
                if not self._leads.is_set():
                    continue  # the lease was lost before this task was scheduled
                self._log_lead()
                await work()
                if not self._work_scope.cancel_called:
                    return
            # With milliseconds: see `_log_lead`.
            seconds = anyio.current_time() - started_at
            _log.warning("%r led for %.3f s and does not lead any more: %s", self, seconds, self._end_reason)

    def _log_lead(self) -> None:
        # If the lease is lost and won again within milliseconds, the same line would be logged twice.
        if self._ended_at is None:
            _log.info("%r leads", self)
        else:
            _log.info("%r leads again, after %.3f s", self, anyio.current_time() - self._ended_at)

    def _end_term(self, reason: str) -> None:
        """Cancel the work."""
        self._leads_until, self._end_reason, self._ended_at = None, reason, anyio.current_time()
        if self._leads.is_set():
            self._leads = anyio.Event()
        self._work_scope.cancel()

    # The election

    async def _take_part(self, shield: anyio.CancelScope) -> None:
        current_fence.set(None)  # otherwise an operator that lost the lease could not acquire it again
        current_counts.set(None)  # the operator's metrics count the requests of the work only
        with shield:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(supervise, self._watch_deadline)
                if self._coordinated is not None:
                    tasks.start_soon(
                        supervise,
                        keep_candidacy,
                        self._client,
                        self._candidate.lease.metadata.namespace,
                        self.lease_name,
                        self._candidate.identity,
                        self._coordinated,
                    )
                while not isinstance(self._state, election.Ended):
                    await self._send_planned()
                tasks.cancel_scope.cancel()

    async def _watch_deadline(self) -> None:
        """Cancel the work at the end of the term, even if a request is pending."""
        while True:
            await self._leads.wait()
            while (deadline := self._leads_until) is not None and self.clock.now() < deadline:
                await self.clock.sleep_until(deadline)
            if deadline is not None:
                self._end_term("the renewal deadline has passed")
                self._advance(election.LeaseExpired())

    async def _send_planned(self) -> None:
        """Send the planned request, and pass its outcome to the machine."""
        if self._planned is None:
            self._planned_changed = anyio.Event()
            await self._planned_changed.wait()
            return
        planned, self._planned = self._planned, None
        event: election.Event | None = None
        with anyio.CancelScope() as self._exchange:
            await self.clock.sleep_until(self._client.random.uniform(planned.earliest, planned.latest))
            event = await self._send(planned)
        if event is not None and not self._exchange.cancel_called:
            self._advance(event)

    def _log_leader(self, leader: str) -> None:
        _log.info("%r: %s leads", self, leader or "nobody")
        lease = self._state.context.lease if isinstance(self._state, election.Observing) else None
        duration = 0 if lease is None else lease.spec.lease_duration_seconds or 0
        if leader and duration > _LONG_DURATION:
            _log.warning(
                "%r: the lease allows %s to be silent for %d s; if that process has ended, delete the Lease",
                self, leader, duration,
            )  # fmt: skip

    def _notify(self, leader: str) -> None:
        if self._on_leader is not None:
            try:
                self._on_leader(leader)
            except failure_types() as error:  # a failing callback must not cost the lease
                log_failure(_log, "%r: on_leader failed", self, error=error)
            except BaseException as error:
                self._fatal = error
                self._standby.cancel()

    async def _send(self, planned: _Send) -> election.Event:
        try:
            match planned:
                case election.SendGet():
                    return election.LeaseRead(
                        await self._call(planned, self._api.get(self._candidate.lease.metadata.name))
                    )
                case election.SendCreate():
                    return election.LeaseWritten(
                        await self._call(planned, self._api.create(planned.body(self._client.wall_clock())))
                    )
                case election.SendUpdate():
                    return election.LeaseWritten(
                        await self._call(planned, self._api.replace(planned.body(self._client.wall_clock())))
                    )
        except OUTCOMES as error:
            self._log_failure(planned, error)
            return election.Failed(outcome_of(error))

    async def _call(self, planned: _Send, request: Request[Lease]) -> Lease:
        lease = (await self._client.call(request)).value
        self._logged_failures.pop(type(planned), None)
        return lease

    def _log_failure(self, planned: _Send, error: Exception) -> None:
        """Log a failed request: a warning for the first of several in a row with the same reason.

        Reads and writes are counted separately: between two failed writes, a candidate reads the lease.
        """
        reason = error_text(error)
        # Another candidate was faster, or the lease does not exist yet.
        usual = isinstance(error, AlreadyExists | Conflict | NotFound)
        is_known = usual or reason == self._logged_failures.get(type(planned))
        level = logging.DEBUG if is_known else self._lines.level(logging.WARNING, reason, self.clock.now())
        _log.log(level, "%r: the lease could not be read or written: %s", self, reason)
        if not usual:
            self._logged_failures[type(planned)] = reason

    def _advance(self, event: election.Event) -> None:
        self._state, actions = election.step(self._state, event, self.clock.now())
        for action in actions:
            match action:
                case election.StartLeading(deadline):
                    self._leads_until = self._holds_until = deadline
                    self._leads.set()
                case election.StopLeading(reason):
                    if self._leads_until is not None and self.clock.now() < self._leads_until:
                        self._holds_until = -inf  # it was taken or deleted, and has not merely expired
                    self._end_term(reason)
                case election.CancelRequest():
                    self._planned = None
                    self._exchange.cancel()
                case election.ReportLeader(leader):
                    if leader != self._candidate.identity:
                        self._holds_until = -inf
                    self._log_leader(leader)
                    self._notify(leader)
                case election.SendGet() | election.SendCreate() | election.SendUpdate():
                    self._planned = action
        self._planned_changed.set()


def _election_client(client: Client, renew_deadline: float) -> Client:
    """Return a client of the same server without retries and rate limit.

    The election retries, and reconciles may exhaust the rate of their client.
    """
    return Client(
        client.transport,
        retries=NO_RETRIES,
        timeout=max(_MIN_TIMEOUT, renew_deadline / 2),
        wall_clock=client.wall_clock,
        rng=client.random,
    )
