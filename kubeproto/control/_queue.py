"""`WorkQueue`: decides which key is worked on next, and when.

::

      add ──► delayed ──► ready ──► running ──► removed
               ▲  its time  ▲ get     │ done
               └────────────┴─── blocked: requested again during the run

A key is in the queue once, in one of these states, however often it is added.

- One worker for each key. A key that is added during its run is blocked until the run is done.
- The earliest requested time wins, and so does the highest priority. Neither is ever reset. The reason in
  `Work` is that of the request which set the time. A raised key goes to the end of the ready keys of its new
  priority. A key that is requested by `retry` or `requeue` keeps the priority of its run.
- Higher priorities come first, but no key waits forever: while several priorities have ready keys, every
  tenth key is that which has been ready longest, whatever its priority. So a key with k older keys is handed
  out after at most 10 (k + 1) others. client-go's priority queue starves low priorities.
- A finished run may hold its key (`done(hold=True)`) until `release`. A held key does not count as running.
- A failure costs a delay that doubles, and counts only for its key, until `forget`. `Work` has the number of
  the attempt.
- With `debounce`, an added key waits until it has not been added for that time, at most `max_wait` after the
  first request: a key that is added all the time is handed out nevertheless. Requests for a certain time
  (`after`, `retry`, `requeue`) are not debounced.
- `rate` limits the keys that are handed out, retries included.
- `drain` accepts no more keys, drops the delayed keys, and hands out the ready and the blocked keys: a
  restarted program lists everything anyway. `stop` drops everything. Runs must be `done` in any case.
- `now` is seconds on a monotonic clock. If the clock goes back, delays get longer, with no other effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Final, Generic, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError
from .._pacing import ExponentialBackoff, Rate
from ._queue_metrics import Durations, QueueMetrics
from ._queued_keys import BLOCKED, DELAYED, READY, REMOVED, DelayHeap, Key, QueuedKey, ReadyQueue, Work

# From the number of consecutive failures of a key, 1 at first, to the seconds that the key waits. The queue
# counts the failures, so that the delay of a key does not depend on other keys.
QueueBackoff: TypeAlias = Callable[[int], float]

# For the objects of the first list, and for objects that a relist shows unchanged. controller-runtime uses
# the same number.
LOW_PRIORITY: Final = -100

# After so many keys in the order of priorities, the key that has been ready longest overtakes. A tenth of the
# work is hardly noticed by live changes, and works off a long first list.
MAX_OVERTAKEN: Final = 9

# Half a year: a longer delay is an arithmetic mistake, and infinity is not a time.
MAX_DELAY: Final = 180 * 86400.0

_BACKOFF: Final = ExponentialBackoff()


class WorkQueue(Generic[Key]):
    """Hands out keys, each to one worker at a time. Deterministic: it has no clock and no lock."""

    def __init__(
        self,
        *,
        backoff: QueueBackoff = _BACKOFF,
        rate: Rate | None = None,
        debounce: float = 0.0,
        max_wait: float | None = None,
    ) -> None:
        """`max_wait` limits the debounce; the default is ten times the debounce."""
        self._backoff = backoff
        self._rate = rate
        self._full_at = -inf
        self._debounce = debounce
        self._max_wait = 10.0 * debounce if max_wait is None else max_wait
        self._queued: dict[Key, QueuedKey[Key]] = {}
        self._running: dict[Key, QueuedKey[Key]] = {}  # includes the held keys, with ready_at == inf
        self._held_count = 0
        self._failures: dict[Key, int] = {}
        self._delays: DelayHeap[Key] = DelayHeap()
        self._ready_queues: dict[int, ReadyQueue[Key]] = {}
        # A heap of the negated priorities that have ready keys, so that the highest priority comes first.
        self._ranks: list[int] = []
        self._ready = 0
        self._overtaken = 0
        self._turn = 0
        self._draining = self._stopped = False
        self._adds = self._retries = 0
        self._queue_durations, self._work_durations = Durations(), Durations()

    # Requesting a key

    def add(self, key: Key, now: float, *, after: float = 0.0, priority: int = 0, reason: str = "") -> None:
        """Request a key now, or after some seconds; ignored if the queue is draining or has stopped.

        `reason` tells the worker what has changed, in a few words.
        """
        if after <= 0.0:
            self.add_each((key,), now, priority=priority, reason=reason)
        elif not self._draining:
            self._request(key, now, now + min(after, MAX_DELAY), inf, priority, reason)

    def add_each(self, keys: Sequence[Key], now: float, *, priority: int = 0, reason: str = "") -> None:
        """Request several keys in their order, each like `add`."""
        if self._draining:
            return
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        queued_keys, running, append = self._queued, self._running, self._ready_queue(priority).append
        for key in keys:
            if self._debounce > 0.0:
                self._request(key, now, inf, now, priority, reason)
            elif key in queued_keys or key in running:
                self._request(key, now, now, inf, priority, reason)
            else:  # `_request` inlined for new keys, the most frequent case
                self._turn += 1
                queued = queued_keys[key] = QueuedKey(now, self._turn, key, priority, reason, READY, now, inf)
                append(queued)
                self._ready += 1
                self._adds += 1

    def retry(
        self,
        key: Key,
        now: float,
        *,
        after: float | None = None,
        priority: int | None = None,
        reason: str = "retry",
    ) -> float:
        """Request a key that failed, after its backoff or after `after` seconds; return the delay.

        Call it before `done`.
        """
        failures = self._failures.get(key, 0) + 1
        delay = max(0.0, self._backoff(failures) if after is None else after)
        if not self._draining:
            self._failures[key] = failures
            self._retries += 1
            ready_at = now + min(delay, MAX_DELAY)
            self._request(key, now, ready_at, inf, self._inherit_priority(key, priority), reason)
        return delay

    def requeue(
        self, key: Key, now: float, *, after: float, priority: int | None = None, reason: str = "requeue"
    ) -> None:
        """Request a key that succeeded, and forget its failures. Call it before `done`."""
        self.forget(key)
        if not self._draining:
            ready_at = now + min(max(0.0, after), MAX_DELAY)
            self._request(key, now, ready_at, inf, self._inherit_priority(key, priority), reason)

    def forget(self, key: Key) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    def discard(self, key: Key) -> None:
        """Drop the failures and requests of a key whose object was deleted. Its run continues."""
        self._failures.pop(key, None)
        queued = self._queued.pop(key, None)
        if queued is None:
            return
        previous_state, queued.state = queued.state, REMOVED
        if previous_state is DELAYED:
            self._delays.mark_stale()
        elif previous_state is READY:
            self._ready_queues[queued.priority].mark_stale()
            self._ready -= 1

    # Working on keys

    def get(self, now: float) -> Work[Key] | None:
        """Return the next ready key, or None: then `next_at` returns when to call again."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        if not self._ready:
            return None
        if self._rate is not None:
            if self._allowed_at(self._rate, now) > now:
                return None
            self._full_at = self._rate.take(self._full_at)
        queued = self._pop_ready()
        key, ready_at = queued.key, queued.ready_at
        queued.state, queued.ready_at = REMOVED, now
        self._ready -= 1
        del self._queued[key]
        self._running[key] = queued
        self._queue_durations.observe(now - ready_at)
        attempt = self._failures.get(key, 0) + 1 if self._failures else 1
        return Work(key, attempt, queued.priority, queued.reason, ready_at)

    def done(self, key: Key, now: float, *, hold: bool = False) -> None:
        """End the run of a key, successful or not, and queue the key if it was requested meanwhile.

        With `hold` the key remains blocked until `release`.
        """
        run = self._running.pop(key, None)
        if run is None or run.ready_at == inf:
            raise LocalProtocolError(f"done with {key!r}, which is not running")
        self._work_durations.observe(now - run.ready_at)
        if hold:
            # No run begins at infinity. The entry stays in `_running`, so that `add` blocks the key, but a
            # second `done` is refused, and metrics include neither the run nor its age.
            run.ready_at = inf
            self._running[key] = run
            self._held_count += 1
        elif key in self._queued or self._delays.next_ready_at <= now:
            self._unblock(key, now)

    def release(self, key: Key, now: float) -> None:
        """Unblock a key that `done` has held."""
        run = self._running.get(key)
        if run is None or run.ready_at < inf:
            raise LocalProtocolError(f"release of {key!r}, which is not held")
        del self._running[key]
        self._held_count -= 1
        self._unblock(key, now)

    def _unblock(self, key: Key, now: float) -> None:
        """Queue a key that was requested while it was running or held."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        queued = self._queued.get(key)
        if queued is None:
            return
        if self._draining and queued.ready_at > now:
            del self._queued[key]
        else:
            self._enqueue(queued, now)

    def next_at(self, now: float) -> float | None:
        """Return when `get` has a key, `now` if it has one; None if only `add` or `done` can change that."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        if self._ready:
            return now if self._rate is None else max(now, self._allowed_at(self._rate, now))
        return self._delays.drop_stale()

    # Stopping

    def drain(self, now: float) -> None:
        """Accept no more keys, and hand out the ready and the blocked keys."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        self._draining = True
        for queued in self._delays.clear():
            queued.state = REMOVED
            del self._queued[queued.key]

    def stop(self) -> None:
        """Accept and hand out no more keys."""
        self._draining = self._stopped = True
        self._queued.clear()
        self._ready_queues.clear()
        self._ranks.clear()
        self._delays.clear()
        self._ready = 0

    @property
    def finished(self) -> bool:
        """Whether the queue has stopped, or has drained and the last run is done."""
        return self._stopped or (self._draining and not self._queued and not self._running)

    # Inspection

    def __len__(self) -> int:
        """Return the number of ready keys."""
        return self._ready

    def __contains__(self, key: object) -> bool:
        """Return whether a key is ready, delayed or blocked, and will be handed out."""
        return key in self._queued

    @property
    def running(self) -> int:
        """The number of running keys."""
        return len(self._running) - self._held_count

    def failures(self, key: Key) -> int:
        """Return the number of consecutive failures of a key."""
        return self._failures.get(key, 0)

    def ready_at(self, key: Key) -> float | None:
        """Return when a key becomes or became ready; None if it is not requested, or blocked."""
        queued = self._queued.get(key)
        return None if queued is None or queued.state is BLOCKED else queued.ready_at

    def count_delayed(self, now: float) -> int:
        """Return the number of delayed keys."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        return sum(queued.state is DELAYED for queued in self._queued.values())

    def oldest_age(self, now: float) -> float:
        """Return for how many seconds the oldest ready key has been ready; 0 if no key is ready."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        entries = (queue.first() for queue in self._ready_queues.values() if queue)
        return max((now - entry.ready_at for entry in entries if entry is not None), default=0.0)

    def metrics(self, now: float) -> QueueMetrics:
        """Return the counters and histograms."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        run_ages = [max(0.0, now - run.ready_at) for run in self._running.values() if run.ready_at < inf]
        return QueueMetrics(
            {queue.priority: len(queue) for queue in self._ready_queues.values() if queue},
            self._adds,
            self._retries,
            self._queue_durations.histogram(),
            self._work_durations.histogram(),
            sum(run_ages),
            max(run_ages, default=0.0),
        )

    # Transitions of a key

    def _allowed_at(self, rate: Rate, now: float) -> float:
        self._full_at = rate.refill(self._full_at, now)
        return rate.next_at(self._full_at)

    def _inherit_priority(self, key: Key, priority: int | None) -> int:
        if priority is not None:
            return priority
        run = self._running.get(key)
        return 0 if run is None else run.priority

    def _request(self, key: Key, now: float, exact: float, since: float, priority: int, reason: str) -> None:
        """Request a key for a certain time (`exact`), or for the end of its debounced burst (`since`)."""
        if self._delays.next_ready_at <= now:
            self._promote_delayed(now)
        queued = self._queued.get(key)
        if queued is None:
            self._turn += 1
            ready_at = exact if exact < inf else now + min(self._debounce, self._max_wait)
            queued = QueuedKey(ready_at, self._turn, key, priority, reason, BLOCKED, exact, since)
            self._queued[key] = queued
            if key not in self._running:
                self._enqueue(queued, now)
            return
        if priority > queued.priority:
            self._raise_priority(queued, priority)
        if queued.state is not READY:
            self._merge(queued, now, exact, since, reason)

    def _merge(self, queued: QueuedKey[Key], now: float, exact: float, since: float, reason: str) -> None:
        """Merge a request into an earlier request for the same key, which is not ready yet."""
        exact, burst_start = min(exact, queued.exact), min(since, queued.since)
        quiet_at = queued.ready_at if since == inf else now + self._debounce
        burst_end = min(quiet_at, burst_start + self._max_wait) if burst_start < inf else inf
        ready_at = min(exact, burst_end)
        if ready_at < queued.ready_at or (ready_at == burst_end and since < inf):
            queued.reason = reason
        queued.exact, queued.since = exact, burst_start
        if ready_at == queued.ready_at:
            return
        if queued.state is DELAYED:
            # The heap is ordered by the time, so an entry in it must not change: a new entry replaces it.
            moved = self._queued[queued.key] = replace(queued, ready_at=ready_at)
            queued.state = REMOVED
            self._delays.mark_stale()
            self._enqueue(moved, now)
        else:
            queued.ready_at = ready_at

    def _raise_priority(self, queued: QueuedKey[Key], priority: int) -> None:
        previous_priority, queued.priority = queued.priority, priority
        if queued.state is READY:
            self._ready_queues[previous_priority].mark_stale()
            self._ready_queue(priority).append(queued)

    def _enqueue(self, queued: QueuedKey[Key], now: float) -> None:
        if queued.ready_at <= now:
            self._make_ready(queued)
        else:
            queued.state = DELAYED
            self._delays.push(queued)

    def _make_ready(self, queued: QueuedKey[Key]) -> None:
        queued.state = READY
        self._ready_queue(queued.priority).append(queued)
        self._ready += 1
        self._adds += 1

    def _promote_delayed(self, now: float) -> None:
        """Make the delayed keys ready whose time has come; called before each later request is queued."""
        for queued in self._delays.pop(now):
            self._make_ready(queued)

    def _ready_queue(self, priority: int) -> ReadyQueue[Key]:
        queue = self._ready_queues.get(priority)
        if queue is None:
            queue = self._ready_queues[priority] = ReadyQueue(priority)
            heappush(self._ranks, -priority)
        return queue

    def _pop_ready(self) -> QueuedKey[Key]:
        """Remove and return the first key of the highest priority, or the oldest key; a key must be ready."""
        ranks, queues = self._ranks, self._ready_queues
        if len(ranks) == 1:
            return queues[-ranks[0]].pop()
        while len(ranks) > 1:
            queue = queues[-ranks[0]]
            if not queue:
                del queues[-heappop(ranks)]
                continue
            if self._ready == len(queue):
                break  # no key is overtaken
            self._overtaken += 1
            if self._overtaken > MAX_OVERTAKEN:
                self._overtaken = 0
                oldest = min(entry for queue in queues.values() if (entry := queue.first()) is not None)
                queue = queues[oldest.priority]
            return queue.pop()
        return queues[-ranks[0]].pop()
