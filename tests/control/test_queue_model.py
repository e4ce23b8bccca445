"""The work queue compared with a plain implementation of its rules, which sorts and searches each time."""

from __future__ import annotations

from copy import deepcopy
from math import inf
from typing import Final

from asked_examples import examples
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubeproto.control import LOW_PRIORITY, ExponentialBackoff, WorkQueue, _queue
from kubeproto.control._queue import MAX_OVERTAKEN

# Every third key, not every tenth, is the key that was due longest, so that short sequences reach the rule.
SHARE: Final = 3

KEYS: Final = st.sampled_from("abcdef")
PRIORITIES: Final = st.sampled_from([LOW_PRIORITY, 0, 0, 5])
SECONDS: Final = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.0])


class PendingKey:
    """A waiting key."""

    def __init__(self, turn: int, priority: int, reason: str) -> None:
        self.turn, self.priority, self.reason = turn, priority, reason
        self.ready_at = self.exact = self.since = inf
        self.due_number = 0  # the position in the order of becoming due, 0 before that


class PlainQueue:
    """The rules of the queue. It sorts and searches, and stores no derived data."""

    def __init__(self, debounce: float, max_wait: float) -> None:
        self.debounce, self.max_wait = debounce, max_wait
        self.pending: dict[str, PendingKey] = {}
        self.running: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.turns = self.dues = self.overtakers = 0
        self.draining = False

    def ripen(self, now: float) -> None:
        waiting = [w for key, w in self.pending.items() if not w.due_number and key not in self.running]
        for request in sorted((w for w in waiting if w.ready_at <= now), key=lambda w: (w.ready_at, w.turn)):
            self.dues += 1
            request.due_number = self.dues

    def add_pending(self, key: str, now: float, exact: float, priority: int, reason: str) -> None:
        self.ripen(now)
        if key not in self.pending:
            self.turns += 1
            self.pending[key] = PendingKey(self.turns, priority, reason)
        request = self.pending[key]
        if priority > request.priority:
            request.priority = priority
            if request.due_number:
                self.dues += 1
                request.due_number = self.dues
        if request.due_number:
            return
        event = exact == inf
        previous_time, request.exact = request.ready_at, min(request.exact, exact)
        if event:
            request.since = min(request.since, now)
            burst = min(now + self.debounce, request.since + self.max_wait)
        else:
            burst = request.ready_at if request.since < inf else inf
        request.ready_at = min(request.exact, burst)
        if request.ready_at < previous_time or (event and request.ready_at == burst):
            request.reason = reason
        self.ripen(now)

    def get(self, now: float) -> tuple[str, int, int, str, float] | None:
        self.ripen(now)
        due_keys = [(key, w) for key, w in self.pending.items() if w.due_number]
        if not due_keys:
            return None
        highest = max(w.priority for _, w in due_keys)
        key, request = min(
            ((k, w) for k, w in due_keys if w.priority == highest), key=lambda pair: pair[1].due_number
        )
        if any(w.priority < highest for _, w in due_keys):
            self.overtakers += 1
            if self.overtakers == SHARE:
                self.overtakers = 0
                heads = [
                    min(
                        ((k, w) for k, w in due_keys if w.priority == priority),
                        key=lambda pair: pair[1].due_number,
                    )
                    for priority in {w.priority for _, w in due_keys}
                ]
                key, request = min(heads, key=lambda pair: (pair[1].ready_at, pair[1].turn))
        del self.pending[key]
        self.running[key] = request.priority
        return key, self.failed.get(key, 0) + 1, request.priority, request.reason, request.ready_at

    def done(self, key: str, now: float) -> None:
        del self.running[key]
        if self.draining and key in self.pending and self.pending[key].ready_at > now:
            del self.pending[key]
        # Keys that became due in the meantime precede it.
        blocked_request = self.pending.pop(key, None)
        self.ripen(now)
        if blocked_request is not None:
            self.pending[key] = blocked_request
        self.ripen(now)

    def next_at(self, now: float) -> float | None:
        self.ripen(now)
        if any(w.due_number for w in self.pending.values()):
            return now
        return min((w.ready_at for key, w in self.pending.items() if key not in self.running), default=None)


class QueueMachine(RuleBasedStateMachine):
    """The queue and the plain rules always agree."""

    @initialize(debounce=st.sampled_from([0.0, 0.0, 1.0]), max_wait=st.sampled_from([2.0, 0.75]))
    def begin(self, debounce: float, max_wait: float) -> None:
        self.now = 0.0
        setattr(_queue, "MAX_OVERTAKEN", SHARE - 1)  # noqa: B010 # a constant, but for this model
        self.queue = WorkQueue[str](backoff=ExponentialBackoff(0.5, 3), debounce=debounce, max_wait=max_wait)
        self.plain = PlainQueue(debounce, max_wait)
        self.reason_count = 0
        self.held_keys: set[str] = set()

    def reason(self) -> str:
        self.reason_count += 1
        return f"reason {self.reason_count}"

    @rule(key=KEYS, after=SECONDS, priority=PRIORITIES)
    def add(self, key: str, after: float, priority: int) -> None:
        reason = self.reason()
        self.queue.add(key, self.now, after=after, priority=priority, reason=reason)
        if self.plain.draining:
            return
        event = not after and self.plain.debounce
        self.plain.add_pending(key, self.now, inf if event else self.now + after, priority, reason)

    @rule()
    def copy(self) -> None:
        """A copy continues like the queue, whatever happens to the original."""
        previous_queue, self.queue = self.queue, deepcopy(self.queue)
        previous_queue.add("f", self.now)
        previous_queue.get(self.now)

    @rule(key=KEYS, priority=st.none() | PRIORITIES)
    def retry(self, key: str, priority: int | None) -> None:
        reason, plain = self.reason(), self.plain
        failures = plain.failed.get(key, 0) + 1
        delay = min(3.0, 0.5 * 2 ** (failures - 1))
        assert self.queue.retry(key, self.now, priority=priority, reason=reason) == delay
        if not plain.draining:
            plain.failed[key] = failures
            retained = plain.running.get(key, 0) if priority is None else priority
            plain.add_pending(key, self.now, self.now + delay, retained, reason)

    @rule(key=KEYS, after=SECONDS)
    def requeue(self, key: str, after: float) -> None:
        reason, plain = self.reason(), self.plain
        self.queue.requeue(key, self.now, after=after, reason=reason)
        plain.failed.pop(key, None)
        if not plain.draining:
            plain.add_pending(key, self.now, self.now + after, plain.running.get(key, 0), reason)

    @rule(key=KEYS)
    def discard(self, key: str) -> None:
        self.queue.discard(key)
        self.plain.failed.pop(key, None)
        self.plain.ripen(self.now)
        self.plain.pending.pop(key, None)

    @rule()
    def get(self) -> None:
        work = self.queue.get(self.now)
        handed_out = (
            None if work is None else (work.key, work.attempt, work.priority, work.reason, work.ready_at)
        )
        assert handed_out == self.plain.get(self.now)

    @precondition(lambda self: self.plain.running)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.plain.running)))
        if key in self.held_keys:
            self.held_keys.remove(key)
            self.queue.release(key, self.now)
        elif data.draw(st.booleans()):
            self.held_keys.add(key)
            self.queue.done(key, self.now, hold=True)
            return  # the rules treat the key as running
        else:
            self.queue.done(key, self.now)
        self.plain.done(key, self.now)

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.reason_count > 20)
    @rule()
    def drain(self) -> None:
        self.queue.drain(self.now)
        self.plain.ripen(self.now)
        self.plain.draining = True
        for key in [
            k for k, w in self.plain.pending.items() if not w.due_number and k not in self.plain.running
        ]:
            del self.plain.pending[key]

    def teardown(self) -> None:
        setattr(_queue, "MAX_OVERTAKEN", MAX_OVERTAKEN)  # noqa: B010

    @invariant()
    def they_agree(self) -> None:
        if not hasattr(self, "queue"):
            return
        assert self.queue.next_at(self.now) == self.plain.next_at(self.now)
        assert len(self.queue) == sum(1 for w in self.plain.pending.values() if w.due_number)
        assert {key for key in "abcdef" if key in self.queue} == self.plain.pending.keys()
        depth: dict[int, int] = {}
        for request in self.plain.pending.values():
            if request.due_number:
                depth[request.priority] = depth.get(request.priority, 0) + 1
        assert self.queue.metrics(self.now).depth == depth
        idle = self.plain.draining and not self.plain.pending and not self.plain.running
        assert self.queue.finished == idle
        assert self.queue.running == len(self.plain.running) - len(self.held_keys)


QueueMachine.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=60, deadline=None)
TestQueueMachine = QueueMachine.TestCase


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=120))
def test_sc_13_a_key_behind_k_older_keys_is_returned_after_at_most_ten_times_as_many_keys(
    story: list[tuple[int, int]],
) -> None:
    """Each step adds a key of some priority and takes some keys; at the end only keys of high priority are
    added.
    """
    queue, order, served = WorkQueue[int](), list[int](), list[int]()
    for now, (priority, takes) in enumerate(story):
        queue.add(now, now, priority=priority)
        order.append(now)
        for _ in range(takes):
            work = queue.get(now)
            if work is not None:
                served.append(work.key)
    waiting = [key for key in order if key not in served]
    now, later = len(story), 0
    for older, key in enumerate(waiting):
        while key not in served:
            queue.add(now, now, priority=9)
            work = queue.get(now)
            assert work is not None
            served.append(work.key)
            now, later = now + 1, later + 1
        assert later <= 10 * (older + 1)
