"""`LeaderElector`: does some work only while this process leads, as `kubeproto.control.election` decides.

::

    the election, shielded ── requests ──► the server
        │ StartLeading: the work begins, or continues until a later time
        │ StopLeading, or that time: the work is cancelled
        ▼
    the work, in the task that called `run`

While the work ends, for whatever reason, the lease is still renewed: no other process leads until this one
has finished, as far as its time allows. Only then is the lease released.
"""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Final

import anyio

from kubeproto import ObjectMeta
from kubeproto.control import election
from kubeproto.wire import NO_RETRIES

from ..calls._outcomes import OUTCOMES, outcome_of
from ..calls._outgoing import current_counts, current_fence
from ..client._client import Client
from ..tasks._stray_cancellations import failures, supervise
from ._lease_candidate import Coordinated, keep_candidacy
from ._lease_clocks import LoopClock, MonotonicClock, default_clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from kubeproto.kinds.coordination_v1 import Lease
    from kubeproto.requests import Request

    _Send: TypeAlias = election.SendGet | election.SendCreate | election.SendUpdate

# A process that was asked to end should end; otherwise another leads when the lease expires.
_RELEASE: Final = 5.0
_LEAST_TIMEOUT: Final = 1.0

_log: Final = logging.getLogger("kubeproto.leading")


class LeaderElector:
    """One candidate for one Lease. The defaults are those of Go's clients, whose leases these are too.

    `identity` is the name of this process among the candidates: usually the pod's name. `lease_duration`,
    `renew_deadline` and `retry_period` are as in `election.Candidate`, which refuses what cannot work.
    `on_leader` is called with the identity of each new leader, "" for nobody. `clock` judges how long this
    one leads; unless given, it is one that counts the time for which the machine was suspended, and that of
    the event loop where this is simulated. With `coordinated` the server chooses the leader, if its feature
    gate is on.
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
        coordinated: Coordinated | None = None,
        on_leader: Callable[[str], object] | None = None,
        clock: MonotonicClock | None = None,
    ) -> None:
        from kubeproto.kinds.coordination_v1 import Lease

        self.clock: MonotonicClock = clock or LoopClock()
        self._clock_given = clock is not None
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
        self._lost = ""
        self._lost_at: float | None = None
        self._term = anyio.CancelScope()
        self._exchange = anyio.CancelScope()
        self._news = anyio.Event()
        self._begin()

    def _begin(self) -> None:
        self._state: election.State = election.begin(self._candidate)
        self._until: float | None = None
        self._holds_until = -inf  # the last `until`, of a lease that is not known to be another's
        self._won = anyio.Event()
        self._planned: _Send | None = None

    def __repr__(self) -> str:
        return f"<{self._candidate.identity}, a candidate for {self.name}>"

    @property
    def name(self) -> str:
        """The lease that it is about."""
        meta = self._candidate.lease.metadata
        return f"{meta.namespace}/{meta.name}"

    @property
    def lease_name(self) -> str:
        """The name of its Lease, without the namespace."""
        return self._candidate.lease.metadata.name

    @property
    def is_leader(self) -> bool:
        """Whether this process leads at this moment."""
        return self.leadership_status.leads

    @property
    def holds(self) -> bool:
        """Whether the lease that this one took has not expired, by its own clock, and is not another's.

        That lasts somewhat longer than the leadership: for as long as cancelled work may take to clean up.
        """
        own = self._candidate
        return self.clock.now() < self._holds_until + own.lease_duration - own.renew_deadline

    @property
    def leadership_status(self) -> election.LeadershipStatus:
        """Whether this one leads, who does, and whether it is healthy: for health checks and metrics."""
        return election.leadership_status(self._state, self.clock.now())

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Take part in the election, and do the work while leading: again, after the lease was lost and taken
        again.

        Returns, or raises, as soon as the work does, and releases the lease then, and when cancelled. Work
        that is cancelled because the lease was lost should end within the rest of the lease, five seconds by
        default.
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
        if not self._clock_given:
            self.clock = default_clock()
        self._begin()
        error: Exception | None = None
        async with anyio.create_task_group() as tasks:
            shield = anyio.CancelScope(shield=True)
            self._advance(election.Started())
            tasks.start_soon(supervise, self._stand, shield)
            try:
                await self._work(work)
            except Exception as raised:  # it propagates without the group around it
                error = raised
            finally:
                self._advance(election.Stopped())
                shield.deadline = anyio.current_time() + _RELEASE
        if error is not None:
            raise error

    # The work

    async def _work(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._won.wait()
            since = anyio.current_time()
            with anyio.CancelScope() as self._term:
                if not self._won.is_set():
                    continue  # lost again before this task had its turn
                self._log_lead()
                await work()
                if not self._term.cancel_called:
                    return
            led = anyio.current_time() - since  # as in `_log_lead`, no two lines are the same
            _log.warning("%r led for %.3f s and does not lead any more: %s", self, led, self._lost)

    def _log_lead(self) -> None:
        # If the lease is lost and won again within milliseconds, the same line would be logged twice.
        if self._lost_at is None:
            _log.info("%r leads", self)
        else:
            _log.info("%r leads again, after %.3f s", self, anyio.current_time() - self._lost_at)

    def _cut(self, reason: str) -> None:
        """Stop the work: at once, as far as anything can be."""
        self._until, self._lost, self._lost_at = None, reason, anyio.current_time()
        if self._won.is_set():
            self._won = anyio.Event()
        self._term.cancel()

    # The election

    async def _stand(self, shield: anyio.CancelScope) -> None:
        current_fence.set(None)  # an operator that no longer holds the lease must be able to take it again
        current_counts.set(None)  # its metrics are about the work
        with shield:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(supervise, self._watch_the_clock)
                if self._coordinated is not None:
                    lease = self._candidate.lease.metadata
                    place = lease.namespace, lease.name, self._candidate.identity
                    tasks.start_soon(supervise, keep_candidacy, self._client, *place, self._coordinated)
                while not isinstance(self._state, election.Ended):
                    await self._ask()
                tasks.cancel_scope.cancel()

    async def _watch_the_clock(self) -> None:
        """Cancel the work when its time is up, whatever else is under way."""
        while True:
            await self._won.wait()
            while (until := self._until) is not None and self.clock.now() < until:
                await self.clock.sleep_until(until)
            if until is not None:
                self._cut("its time is up")
                self._advance(election.LeaseExpired())

    async def _ask(self) -> None:
        """Send the planned request, and pass its outcome to the machine."""
        if self._planned is None:
            self._news = anyio.Event()
            await self._news.wait()
            return
        planned, self._planned = self._planned, None
        event: election.Event | None = None
        with anyio.CancelScope() as self._exchange:
            await self.clock.sleep_until(self._client.random.uniform(planned.earliest, planned.latest))
            event = await self._send(planned)
        if event is not None and not self._exchange.cancel_called:
            self._advance(event)

    def _announce(self, leader: str) -> None:
        if self._on_leader is not None:
            try:
                self._on_leader(leader)
            except failures():  # an observer that fails must not cost the lease
                _log.exception("%r: on_leader failed", self)

    async def _send(self, planned: _Send) -> election.Event:
        try:
            match planned:
                case election.SendGet():
                    return election.LeaseRead(
                        await self._call(self._api.get(self._candidate.lease.metadata.name))
                    )
                case election.SendCreate():
                    return election.LeaseWritten(
                        await self._call(self._api.create(planned.body(self._client.wall())))
                    )
                case election.SendUpdate():
                    return election.LeaseWritten(
                        await self._call(self._api.replace(planned.body(self._client.wall())))
                    )
        except OUTCOMES as error:
            _log.debug("%r: %s", self, error)
            return election.Failed(outcome_of(error))

    async def _call(self, request: Request[Lease]) -> Lease:
        return (await self._client.call(request)).value

    def _advance(self, event: election.Event) -> None:
        self._state, actions = election.step(self._state, event, self.clock.now())
        for action in actions:
            match action:
                case election.StartLeading(until):
                    self._until = self._holds_until = until
                    self._won.set()
                case election.StopLeading(reason):
                    if self._until is not None and self.clock.now() < self._until:
                        self._holds_until = -inf  # it is another's or deleted, and has not merely expired
                    self._cut(reason)
                case election.CancelRequest():
                    self._planned = None
                    self._exchange.cancel()
                case election.ReportLeader(leader):
                    if leader != self._candidate.identity:
                        self._holds_until = -inf
                    _log.info("%r: %s leads", self, leader or "nobody")
                    self._announce(leader)
                case election.SendGet() | election.SendCreate() | election.SendUpdate():
                    self._planned = action
        self._news.set()


def _election_client(client: Client, renew_deadline: float) -> Client:
    """Return a client without the rate limits of another, which reconciles may use up.

    It retries nothing, because the election does.
    """
    return Client(
        client.transport,
        retries=NO_RETRIES,
        timeout=max(_LEAST_TIMEOUT, renew_deadline / 2),
        wall=client.wall,
        rng=client.random,
    )
