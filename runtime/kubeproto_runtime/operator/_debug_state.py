"""What the debug page shows, as a value: how controllers, queues and caches of an operator are doing.

It has keys and numbers of objects, and what `error_summary` keeps of errors: no contents, no tokens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct

if TYPE_CHECKING:
    from ..caches._caches import Cache
    from ..reconciling._reconciling import Reconciling
    from ._election import Election

EVERY: Final = 5.0  # seconds between two samples of the history
_KEPT: Final = 120  # of them: ten minutes
_MOST_KEYS: Final = 20  # failing keys that are listed; the rest is counted


class FailingKeyShown(Struct, frozen=True, rename="camel"):
    """A key that failed: how often, when, what it was about, and in how many seconds it is retried."""

    key: str
    attempt: int
    seconds_ago: float
    error: str
    retried_in: float | None  # None: when something changes


class SlowRun(Struct, frozen=True, rename="camel"):
    """One of the slowest runs."""

    key: str
    seconds: float
    seconds_ago: float


class ControllerState(Struct, frozen=True, rename="camel"):
    """One controller and its queue."""

    name: str
    resource: str
    synced: bool
    concurrency: int
    running: int
    longest_run: float  # seconds of the longest run of this moment
    due: int
    oldest: float  # seconds for which a key has been due
    delayed: int
    reconciled: int
    conflicts: int
    failed: int
    failing: tuple[FailingKeyShown, ...]
    failing_more: int  # those that are not listed
    slowest: tuple[SlowRun, ...]


class CacheState(Struct, frozen=True, rename="camel"):
    """One cache and the watch that keeps it."""

    place: str
    synced: bool
    live: bool
    state: str
    why: str
    version: str
    objects: int
    size: int  # bytes
    silent: float | None  # seconds since the last byte
    failures: int


class Sample(Struct, frozen=True, rename="camel"):
    """One moment of the history: keys due and running, and the runs that ended since the sample before."""

    at: float
    due: int
    running: int
    ended: int
    failed: int


class DebugState(Struct, frozen=True, rename="camel"):
    """An operator at one moment."""

    program: str
    uptime: float
    election: str  # the lease, "" without an election
    leads: bool
    leader: str
    controllers: tuple[ControllerState, ...]
    caches: tuple[CacheState, ...]
    history: tuple[Sample, ...]


class SampleHistory:
    """Samples of the last minutes, taken while `run` runs."""

    def __init__(self, controllers: Mapping[str, Reconciling]) -> None:
        self.samples: deque[Sample] = deque(maxlen=_KEPT)
        self._controllers = controllers
        self._ended = self._failed = 0

    async def run(self) -> None:
        """Take samples until cancelled."""
        while True:
            self.take(anyio.current_time())
            await anyio.sleep(EVERY)

    def take(self, now: float) -> None:
        """Take one sample."""
        controllers = self._controllers.values()
        ended = sum(one.stats.finished for one in controllers)
        failed = sum(one.stats.failed for one in controllers)
        self.samples.append(
            Sample(
                now,
                sum(len(one.queue) for one in controllers),
                sum(one.queue.running for one in controllers),
                ended - self._ended,
                failed - self._failed,
            )
        )
        self._ended, self._failed = ended, failed


def debug_state(
    program: str, uptime: float, controllers: Mapping[str, Reconciling], election: Election | None,
    history: Iterable[Sample],
) -> DebugState:  # fmt: skip
    """Return the state of an operator at this moment."""
    now = anyio.current_time()
    caches = {id(cache): cache for one in controllers.values() for cache in one.caches}
    status = None if election is None else election.leadership_status
    return DebugState(
        program=program,
        uptime=uptime,
        election="" if election is None else election.name,
        leads=status is None or status.leads,
        leader="" if status is None else status.leader or "",
        controllers=tuple(_controller(name, one, now) for name, one in controllers.items()),
        caches=tuple(_cache(cache) for cache in caches.values()),
        history=tuple(history),
    )


def _controller(name: str, one: Reconciling, now: float) -> ControllerState:
    queue, stats = one.queue, one.stats
    latest = sorted(one.failing.items(), key=lambda item: -item[1].at)
    shown: list[FailingKeyShown] = []
    for key, failure in latest[:_MOST_KEYS]:
        due = queue.ready_at(key)
        retried = None if due is None else max(0.0, due - now)
        shown.append(FailingKeyShown(key, failure.attempt, now - failure.at, failure.summary, retried))
    metrics = queue.metrics(now)
    return ControllerState(
        name=name,
        resource=str(one.plan.resource),
        synced=one.synced,
        concurrency=one.plan.concurrency,
        running=queue.running,
        longest_run=metrics.longest_running_processor_seconds,
        due=len(queue),
        oldest=queue.oldest_age(now),
        delayed=queue.count_delayed(now),
        reconciled=stats.finished,
        conflicts=stats.conflicts,
        failed=stats.failed,
        failing=tuple(shown),
        failing_more=len(latest) - len(shown),
        slowest=tuple(SlowRun(key, seconds, now - at) for key, seconds, at in stats.slowest.runs),
    )


def _cache(cache: Cache[Any]) -> CacheState:
    status = cache.sync_status
    return CacheState(
        place=cache.place,
        synced=cache.synced,
        live=status.live,
        state=cache.phase,
        why=status.why,
        version=cache.version,
        objects=len(cache) if cache.synced else 0,
        size=cache.size,
        silent=status.silent,
        failures=status.failures,
    )
