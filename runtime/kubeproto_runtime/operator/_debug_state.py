"""`DebugState`: the controllers, queues and caches of an operator at one moment, for the debug page.

It has keys and numbers of objects, and the `error_summary` of errors, but no contents and no tokens. Programs
read ``/debug.json``, so its keys do not change when a field is renamed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct, field

if TYPE_CHECKING:
    from ..caches._caches import Cache
    from ..reconciling._controller_runner import ControllerRunner
    from ._election import Election

_SAMPLE_PERIOD: Final = 5.0  # seconds
_MAX_SAMPLES: Final = 120  # ten minutes
_MAX_FAILING_KEYS: Final = 20  # in the list; the others are counted


class FailingKeyState(Struct, frozen=True, rename="camel"):
    """A key that failed: its attempts, the last error, and the seconds until its retry."""

    key: str
    attempt: int
    seconds_ago: float
    error: str
    retried_in: float | None  # None: not before a change


class SlowRun(Struct, frozen=True, rename="camel"):
    """A run that is among the slowest."""

    key: str
    seconds: float
    seconds_ago: float


class ControllerState(Struct, frozen=True, rename="camel"):
    """A controller and its queue."""

    name: str
    resource: str
    synced: bool
    concurrency: int
    running: int
    longest_run: float  # seconds of the longest current run
    due: int
    oldest: float  # seconds since the oldest due key became due
    delayed: int
    reconciled: int
    conflicts: int
    failed: int
    failing: tuple[FailingKeyState, ...]
    failing_more: int  # failing keys that are not listed
    slowest: tuple[SlowRun, ...]


class CacheState(Struct, frozen=True, rename="camel"):
    """A cache and its watch."""

    name: str = field(name="place")
    synced: bool
    live: bool
    state: str
    reason: str = field(name="why")
    version: str
    objects: int
    size: int  # bytes
    silent: float | None  # seconds since the last byte
    failures: int


class Sample(Struct, frozen=True, rename="camel"):
    """A sample of the history: due and running keys, and the finished runs since the previous sample."""

    time: float = field(name="at")
    due: int
    running: int
    finished: int = field(name="ended")
    failed: int


class DebugState(Struct, frozen=True, rename="camel"):
    """An operator at one moment."""

    program: str
    uptime: float
    election: str  # the name of the lease; "" without an election
    leads: bool
    leader: str
    controllers: tuple[ControllerState, ...]
    caches: tuple[CacheState, ...]
    history: tuple[Sample, ...]


class SampleHistory:
    """The samples of the last ten minutes."""

    def __init__(self, controllers: Mapping[str, ControllerRunner]) -> None:
        self.samples: deque[Sample] = deque(maxlen=_MAX_SAMPLES)
        self._controllers = controllers
        self._finished = self._failed = 0

    async def run(self) -> None:
        """Take samples until cancelled."""
        while True:
            self.take(anyio.current_time())
            await anyio.sleep(_SAMPLE_PERIOD)

    def take(self, now: float) -> None:
        """Take one sample."""
        controllers = self._controllers.values()
        finished = sum(controller.stats.finished for controller in controllers)
        failed = sum(controller.stats.failed for controller in controllers)
        self.samples.append(
            Sample(
                now,
                sum(len(controller.queue) for controller in controllers),
                sum(controller.queue.running for controller in controllers),
                finished - self._finished,
                failed - self._failed,
            )
        )
        self._finished, self._failed = finished, failed


def debug_state(
    program: str, uptime: float, controllers: Mapping[str, ControllerRunner], election: Election | None,
    history: Iterable[Sample],
) -> DebugState:  # fmt: skip
    """Return the state of an operator at this moment."""
    now = anyio.current_time()
    caches = {id(cache): cache for controller in controllers.values() for cache in controller.caches}
    status = None if election is None else election.leadership_status
    return DebugState(
        program=program,
        uptime=uptime,
        election="" if election is None else election.name,
        leads=status is None or status.leads,
        leader="" if status is None else status.leader or "",
        controllers=tuple(_controller_state(name, runner, now) for name, runner in controllers.items()),
        caches=tuple(_cache_state(cache) for cache in caches.values()),
        history=tuple(history),
    )


def _controller_state(name: str, controller: ControllerRunner, now: float) -> ControllerState:
    queue, stats = controller.queue, controller.stats
    latest_failures = sorted(controller.failing.items(), key=lambda item: -item[1].failed_at)
    listed: list[FailingKeyState] = []
    for key, failure in latest_failures[:_MAX_FAILING_KEYS]:
        ready_at = queue.ready_at(key)
        retried_in = None if ready_at is None else max(0.0, ready_at - now)
        listed.append(
            FailingKeyState(key, failure.attempt, now - failure.failed_at, failure.summary, retried_in)
        )
    metrics = queue.metrics(now)
    return ControllerState(
        name=name,
        resource=str(controller.plan.resource),
        synced=controller.synced,
        concurrency=controller.plan.concurrency,
        running=queue.running,
        longest_run=metrics.longest_running_processor_seconds,
        due=len(queue),
        oldest=queue.oldest_age(now),
        delayed=queue.count_delayed(now),
        reconciled=stats.finished,
        conflicts=stats.conflicts,
        failed=stats.failed,
        failing=tuple(listed),
        failing_more=len(latest_failures) - len(listed),
        slowest=tuple(SlowRun(key, seconds, now - ended_at) for key, seconds, ended_at in stats.slowest.runs),
    )


def _cache_state(cache: Cache[Any]) -> CacheState:
    status = cache.sync_status
    return CacheState(
        name=cache.display_name,
        synced=cache.synced,
        live=status.live,
        state=cache.phase,
        reason=status.reason,
        version=cache.version,
        objects=len(cache) if cache.synced else 0,
        size=cache.size,
        silent=status.silent_for,
        failures=status.failures,
    )
