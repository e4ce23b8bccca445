"""`WorkQueue`: which key is worked on next, and when.

::

      add ──► delayed ──► due ──► running ──► (gone)
               ▲  its time  ▲ get    │ done
               └────────────┴─────── held: added again while it runs

A key is in one of these places, once, however often it is added.

- One worker for each key. A key that is added while it runs is held, and placed when the run is done.
- The earliest requested time wins, and so does the highest priority; neither is reset. The reason that is
  handed out is that of the request which set the time. A key whose priority is raised is placed after those
  that are due at that priority already. A key that is requested again by other means than `add` keeps the
  priority with which it was handed out.
- Higher priorities come first, but no key waits forever: where several priorities are due, every tenth key is
  the one that has been due longest, whatever its priority. So a key with k older ones is handed out after at
  most 10 (k + 1) others. Go's controllers let low priorities starve.
- A run that has ended may keep its key (`done(hold=True)`) until `release`, without counting as a run.
- A failure costs a delay that doubles, and counts only for that key, until `forget`. The number of the
  attempt is handed out with the key.
- With a debounce an added key waits until it has not been added for that time, but no longer than
  `longest_wait` after the first: a key that is added all the time is handed out nevertheless. A request for a
  certain time (`after`, `retry`, `requeue`) is not delayed by that.
- A rate bounds what is handed out, retries included.
- `drain` accepts nothing more, drops what is delayed, and hands out what is due or held: a program that
  restarts lists everything anyway. `stop` drops everything. Runs have to be `done` in any case.
- `now` is seconds on a monotonic clock. If it goes back, delays get longer, with no other effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import Final, Generic

from msgspec.structs import replace

from .._errors import LocalProtocolError
from .._pacing import Rate
from ._queue_backoff import Exponential, QueueBackoff
from ._queue_metrics import Durations, QueueMetrics
from ._queue_states import DELAYED, DUE, HELD, NOWHERE, DelayHeap, Key, QueuedKey, ReadyQueue, Work

# For objects of the first list, and for those that a relist shows unchanged. Go's controllers use the same
# number.
LOW: Final = -100

# One key in ten is a share that live changes hardly notice, and that works off a long first list.
OVERTAKERS: Final = 9

# Half a year: a later time is an arithmetic mistake, and infinity is not a time.
LATEST: Final = 180 * 86400.0

_BACKOFF: Final = Exponential()


class WorkQueue(Generic[Key]):
    """Hands out keys, each to one worker at a time. Deterministic: it has no clock and no lock."""

    def __init__(
        self,
        *,
        backoff: QueueBackoff = _BACKOFF,
        rate: Rate | None = None,
        debounce: float = 0.0,
        longest_wait: float | None = None,
    ) -> None:
        """A debounce waits at most `longest_wait`, by default ten times itself."""
        self._backoff = backoff
        self._rate = rate
        self._full_at = -inf
        self._debounce = debounce
        self._longest_wait = 10.0 * debounce if longest_wait is None else longest_wait
        self._queued: dict[Key, QueuedKey[Key]] = {}
        self._running: dict[Key, QueuedKey[Key]] = {}  # each as it was handed out
        self._kept = 0  # those of them that wait for `release` after their run; they began at infinity
        self._failures: dict[Key, int] = {}
        self._delays: DelayHeap[Key] = DelayHeap()
        self._ready_queues: dict[int, ReadyQueue[Key]] = {}
        self._ranks: list[
            int
        ] = []  # a heap of the priorities that have ready keys, negated: the highest first
        self._due = 0
        self._overtakers = 0
        self._turn = 0
        self._draining = self._stopped = False
        self._adds = self._retries = 0
        self._waited, self._worked = Durations(), Durations()

    # Requesting a key

    def add(self, key: Key, now: float, *, after: float = 0.0, priority: int = 0, reason: str = "") -> None:
        """Request a key at once, or after some seconds; ignored if the queue is draining or has stopped.

        `reason` is for the worker: what has changed, in a word.
        """
        if after <= 0.0:
            self.add_each((key,), now, priority=priority, reason=reason)
        elif not self._draining:
            self._want(key, now, now + min(after, LATEST), inf, priority, reason)

    def add_each(self, keys: Sequence[Key], now: float, *, priority: int = 0, reason: str = "") -> None:
        """Request several keys, one after the other; ignored like a single one."""
        if self._draining:
            return
        if self._delays.soonest <= now:
            self._make_ready(now)
        known, running, append = self._queued, self._running, self._ready_queue(priority).append
        for key in keys:
            if self._debounce > 0.0:
                self._want(key, now, inf, now, priority, reason)
            elif key in known or key in running:
                self._want(key, now, now, inf, priority, reason)
            else:  # the most frequent case, on a short path
                self._turn += 1
                queued = known[key] = QueuedKey(now, self._turn, key, priority, reason, DUE, now, inf)
                append(queued)
                self._due += 1
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
        """Request a key that failed, after its backoff or `after` seconds; return how many seconds.

        Call it before `done`.
        """
        failures = self._failures.get(key, 0) + 1
        delay = max(0.0, self._backoff(failures) if after is None else after)
        if not self._draining:
            self._failures[key] = failures
            self._retries += 1
            at = now + min(delay, LATEST)
            self._want(key, now, at, inf, self._retained(key, priority), reason)
        return delay

    def requeue(
        self, key: Key, now: float, *, after: float, priority: int | None = None, reason: str = "requeue"
    ) -> None:
        """Request a key that succeeded, and forget its failures. Call it before `done`."""
        self.forget(key)
        if not self._draining:
            at = now + min(max(0.0, after), LATEST)
            self._want(key, now, at, inf, self._retained(key, priority), reason)

    def forget(self, key: Key) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    def discard(self, key: Key) -> None:
        """Drop a key whose object was deleted: its failures and requests. Its run continues."""
        self._failures.pop(key, None)
        queued = self._queued.pop(key, None)
        if queued is None:
            return
        place, queued.place = queued.place, NOWHERE
        if place is DELAYED:
            self._delays.leave()
        elif place is DUE:
            self._ready_queues[queued.priority].leave()
            self._due -= 1

    # Working on keys

    def get(self, now: float) -> Work[Key] | None:
        """Return the next key that is due and not running, or None: then `next_at` is when to call again."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        if not self._due:
            return None
        if self._rate is not None:
            if self._allowed_at(self._rate, now) > now:
                return None
            self._full_at = self._rate.take(self._full_at)
        queued = self._take()
        key, at = queued.key, queued.at
        queued.place, queued.at = NOWHERE, now
        self._due -= 1
        del self._queued[key]
        self._running[key] = queued
        self._waited.observe(now - at)
        attempt = self._failures.get(key, 0) + 1 if self._failures else 1
        return Work(key, attempt, queued.priority, queued.reason, at)

    def done(self, key: Key, now: float, *, hold: bool = False) -> None:
        """End the run of a key, successful or not. If the key was requested meanwhile, it is placed now.

        With `hold` the key is not handed out until `release`, as if it were running.
        """
        run = self._running.pop(key, None)
        if run is None or run.at == inf:
            raise LocalProtocolError(f"done with {key!r}, which is not running")
        self._worked.observe(now - run.at)
        if hold:
            # No run begins at infinity. So this entry stays in `_running`, where `add` finds its key and
            # queues nothing, but a second `done` is refused, and metrics count neither the run nor its age.
            run.at = inf
            self._running[key] = run
            self._kept += 1
        elif key in self._queued or self._delays.soonest <= now:
            self._come_back(key, now)

    def release(self, key: Key, now: float) -> None:
        """Let the key be handed out again."""
        run = self._running.get(key)
        if run is None or run.at < inf:
            raise LocalProtocolError(f"release of {key!r}, which is not held")
        del self._running[key]
        self._kept -= 1
        self._come_back(key, now)

    def _come_back(self, key: Key, now: float) -> None:
        """Place a key that was requested while it could not be handed out."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        queued = self._queued.get(key)
        if queued is None:
            return
        if self._draining and queued.at > now:
            del self._queued[key]
        else:
            self._place(queued, now)

    def next_at(self, now: float) -> float | None:
        """Return when `get` will have a key, `now` if it has one; None if it waits for `add` or `done`."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        if self._due:
            return now if self._rate is None else max(now, self._allowed_at(self._rate, now))
        return self._delays.next_at()

    # Stopping

    def drain(self, now: float) -> None:
        """Accept nothing more, and hand out what is due or held until nothing is left."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        self._draining = True
        for queued in self._delays.clear():
            queued.place = NOWHERE
            del self._queued[queued.key]

    def stop(self) -> None:
        """Accept nothing more and hand out nothing more, whatever is running."""
        self._draining = self._stopped = True
        self._queued.clear()
        self._ready_queues.clear()
        self._ranks.clear()
        self._delays.clear()
        self._due = 0

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to wait for: stopped, or drained to the last run."""
        return self._stopped or (self._draining and not self._queued and not self._running)

    # Inspection

    def __len__(self) -> int:
        """Return how many keys are due; those that run, are held or delayed do not count."""
        return self._due

    def __contains__(self, key: object) -> bool:
        """Return whether a key will be handed out: due, delayed or held."""
        return key in self._queued

    @property
    def running(self) -> int:
        """How many keys are being worked on."""
        return len(self._running) - self._kept

    def failures(self, key: Key) -> int:
        """Return how often a key has failed since its failures were last forgotten."""
        return self._failures.get(key, 0)

    def due_at(self, key: Key) -> float | None:
        """Return when a key is or was due; None if it is not requested, or waits for its run to end."""
        queued = self._queued.get(key)
        return None if queued is None or queued.place is HELD else queued.at

    def delayed(self, now: float) -> int:
        """Return how many keys are requested and not due yet."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        return sum(queued.place is DELAYED for queued in self._queued.values())

    def oldest(self, now: float) -> float:
        """Return for how long the oldest due key has been due; 0 if none is due."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        firsts = (queue.first() for queue in self._ready_queues.values() if queue)
        return max((now - first.at for first in firsts if first is not None), default=0.0)

    def metrics(self, now: float) -> QueueMetrics:
        """Return the state of the queue, and its counters."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        ages = [max(0.0, now - run.at) for run in self._running.values() if run.at < inf]
        return QueueMetrics(
            {queue.priority: len(queue) for queue in self._ready_queues.values() if queue},
            self._adds,
            self._retries,
            self._waited.histogram(),
            self._worked.histogram(),
            sum(ages),
            max(ages, default=0.0),
        )

    # How keys move

    def _allowed_at(self, rate: Rate, now: float) -> float:
        self._full_at = rate.at_rest(self._full_at, now)
        return rate.next_at(self._full_at)

    def _retained(self, key: Key, priority: int | None) -> int:
        if priority is not None:
            return priority
        run = self._running.get(key)
        return 0 if run is None else run.priority

    def _want(self, key: Key, now: float, exact: float, since: float, priority: int, reason: str) -> None:
        """Request a key for a certain time (`exact`), or for when its burst is over (`since`)."""
        if self._delays.soonest <= now:
            self._make_ready(now)
        queued = self._queued.get(key)
        if queued is None:
            self._turn += 1
            at = exact if exact < inf else now + min(self._debounce, self._longest_wait)
            queued = self._queued[key] = QueuedKey(at, self._turn, key, priority, reason, HELD, exact, since)
            if key not in self._running:
                self._place(queued, now)
            return
        if priority > queued.priority:
            self._raise(queued, priority)
        if queued.place is not DUE:
            self._merge(queued, now, exact, since, reason)

    def _merge(self, queued: QueuedKey[Key], now: float, exact: float, since: float, reason: str) -> None:
        """Merge two requests for a key, of which neither has become due."""
        exact, first = min(exact, queued.exact), min(since, queued.since)
        rests = queued.at if since == inf else now + self._debounce
        burst = min(rests, first + self._longest_wait) if first < inf else inf
        at = min(exact, burst)
        if at < queued.at or (at == burst and since < inf):
            queued.reason = reason
        queued.exact, queued.since = exact, first
        if at == queued.at:
            return
        if queued.place is DELAYED:
            # The heap is ordered by the time, so an entry in it cannot change: another one replaces it.
            moved = self._queued[queued.key] = replace(queued, at=at)
            queued.place = NOWHERE
            self._delays.leave()
            self._place(moved, now)
        else:
            queued.at = at

    def _raise(self, queued: QueuedKey[Key], priority: int) -> None:
        before, queued.priority = queued.priority, priority
        if queued.place is DUE:
            self._ready_queues[before].leave()
            self._ready_queue(priority).append(queued)

    def _place(self, queued: QueuedKey[Key], now: float) -> None:
        if queued.at <= now:
            self._make_due(queued)
        else:
            queued.place = DELAYED
            self._delays.push(queued)

    def _make_due(self, queued: QueuedKey[Key]) -> None:
        queued.place = DUE
        self._ready_queue(queued.priority).append(queued)
        self._due += 1
        self._adds += 1

    def _make_ready(self, now: float) -> None:
        """Make those ready whose time has come, before anything that is requested later."""
        for queued in self._delays.pop(now):
            self._make_due(queued)

    def _ready_queue(self, priority: int) -> ReadyQueue[Key]:
        queue = self._ready_queues.get(priority)
        if queue is None:
            queue = self._ready_queues[priority] = ReadyQueue(priority)
            heappush(self._ranks, -priority)
        return queue

    def _take(self) -> QueuedKey[Key]:
        """Return the first of the highest priority, or the one that has been due longest. One must be due."""
        ranks, queues = self._ranks, self._ready_queues
        if len(ranks) == 1:
            return queues[-ranks[0]].pop()
        while len(ranks) > 1:
            queue = queues[-ranks[0]]
            if not queue:
                del queues[-heappop(ranks)]
                continue
            if self._due == len(queue):
                break  # no key is overtaken
            self._overtakers += 1
            if self._overtakers > OVERTAKERS:
                self._overtakers = 0
                oldest = min(first for queue in queues.values() if (first := queue.first()) is not None)
                queue = queues[oldest.priority]
            return queue.pop()
        return queues[-ranks[0]].pop()
