"""The work queue against the same rules written down in the plainest way: searched and sorted each time."""

from __future__ import annotations

from copy import deepcopy
from math import inf
from typing import Final

from asked_examples import examples
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubeproto.control import LOW_PRIORITY, ExponentialBackoff, WorkQueue, _queue
from kubeproto.control._queue import MAX_OVERTAKEN

# One of three, not of ten, is the one that was due longest: so short stories get there.
SHARE: Final = 3

KEYS: Final = st.sampled_from("abcdef")
PRIORITIES: Final = st.sampled_from([LOW_PRIORITY, 0, 0, 5])
SECONDS: Final = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.0])


class Wanted:
    """One key that waits."""

    def __init__(self, turn: int, priority: int, reason: str) -> None:
        self.turn, self.priority, self.reason = turn, priority, reason
        self.at = self.exact = self.since = inf
        self.due = 0  # the place in the order of becoming due, 0 before that


class Plain:
    """The rules of the queue. It sorts and searches, and forgets nothing by being clever."""

    def __init__(self, debounce: float, longest: float) -> None:
        self.debounce, self.longest = debounce, longest
        self.wanted: dict[str, Wanted] = {}
        self.running: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.turns = self.dues = self.overtakers = 0
        self.draining = False

    def ripen(self, now: float) -> None:
        waiting = [w for key, w in self.wanted.items() if not w.due and key not in self.running]
        for request in sorted((w for w in waiting if w.at <= now), key=lambda w: (w.at, w.turn)):
            self.dues += 1
            request.due = self.dues

    def want(self, key: str, now: float, exact: float, priority: int, reason: str) -> None:
        self.ripen(now)
        if key not in self.wanted:
            self.turns += 1
            self.wanted[key] = Wanted(self.turns, priority, reason)
        request = self.wanted[key]
        if priority > request.priority:
            request.priority = priority
            if request.due:
                self.dues += 1
                request.due = self.dues
        if request.due:
            return
        event = exact == inf
        before, request.exact = request.at, min(request.exact, exact)
        if event:
            request.since = min(request.since, now)
            burst = min(now + self.debounce, request.since + self.longest)
        else:
            burst = request.at if request.since < inf else inf
        request.at = min(request.exact, burst)
        if request.at < before or (event and request.at == burst):
            request.reason = reason
        self.ripen(now)

    def get(self, now: float) -> tuple[str, int, int, str, float] | None:
        self.ripen(now)
        due = [(key, w) for key, w in self.wanted.items() if w.due]
        if not due:
            return None
        highest = max(w.priority for _, w in due)
        key, request = min(((k, w) for k, w in due if w.priority == highest), key=lambda pair: pair[1].due)
        if any(w.priority < highest for _, w in due):
            self.overtakers += 1
            if self.overtakers == SHARE:
                self.overtakers = 0
                heads = [
                    min(((k, w) for k, w in due if w.priority == priority), key=lambda pair: pair[1].due)
                    for priority in {w.priority for _, w in due}
                ]
                key, request = min(heads, key=lambda pair: (pair[1].at, pair[1].turn))
        del self.wanted[key]
        self.running[key] = request.priority
        return key, self.failed.get(key, 0) + 1, request.priority, request.reason, request.at

    def done(self, key: str, now: float) -> None:
        del self.running[key]
        if self.draining and key in self.wanted and self.wanted[key].at > now:
            del self.wanted[key]
        # What has ripened meanwhile became due before it.
        blocked_request = self.wanted.pop(key, None)
        self.ripen(now)
        if blocked_request is not None:
            self.wanted[key] = blocked_request
        self.ripen(now)

    def next_at(self, now: float) -> float | None:
        self.ripen(now)
        if any(w.due for w in self.wanted.values()):
            return now
        return min((w.at for key, w in self.wanted.items() if key not in self.running), default=None)


class QueueMachine(RuleBasedStateMachine):
    """Whatever is asked of both, they say the same."""

    @initialize(debounce=st.sampled_from([0.0, 0.0, 1.0]), longest=st.sampled_from([2.0, 0.75]))
    def begin(self, debounce: float, longest: float) -> None:
        self.now = 0.0
        setattr(_queue, "MAX_OVERTAKEN", SHARE - 1)  # noqa: B010 # a constant, but for this model
        self.queue = WorkQueue[str](backoff=ExponentialBackoff(0.5, 3), debounce=debounce, max_wait=longest)
        self.plain = Plain(debounce, longest)
        self.asked = 0
        self.kept: set[str] = set()

    def reason(self) -> str:
        self.asked += 1
        return f"reason {self.asked}"

    @rule(key=KEYS, after=SECONDS, priority=PRIORITIES)
    def add(self, key: str, after: float, priority: int) -> None:
        reason = self.reason()
        self.queue.add(key, self.now, after=after, priority=priority, reason=reason)
        if self.plain.draining:
            return
        event = not after and self.plain.debounce
        self.plain.want(key, self.now, inf if event else self.now + after, priority, reason)

    @rule()
    def copy(self) -> None:
        """A copy goes on as the queue would have, whatever happens to that one meanwhile."""
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
            plain.want(key, self.now, self.now + delay, retained, reason)

    @rule(key=KEYS, after=SECONDS)
    def requeue(self, key: str, after: float) -> None:
        reason, plain = self.reason(), self.plain
        self.queue.requeue(key, self.now, after=after, reason=reason)
        plain.failed.pop(key, None)
        if not plain.draining:
            plain.want(key, self.now, self.now + after, plain.running.get(key, 0), reason)

    @rule(key=KEYS)
    def discard(self, key: str) -> None:
        self.queue.discard(key)
        self.plain.failed.pop(key, None)
        self.plain.ripen(self.now)
        self.plain.wanted.pop(key, None)

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
        if key in self.kept:
            self.kept.remove(key)
            self.queue.release(key, self.now)
        elif data.draw(st.booleans()):
            self.kept.add(key)
            self.queue.done(key, self.now, hold=True)
            return  # the rules go on as if it were running
        else:
            self.queue.done(key, self.now)
        self.plain.done(key, self.now)

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.asked > 20)
    @rule()
    def drain(self) -> None:
        self.queue.drain(self.now)
        self.plain.ripen(self.now)
        self.plain.draining = True
        for key in [k for k, w in self.plain.wanted.items() if not w.due and k not in self.plain.running]:
            del self.plain.wanted[key]

    def teardown(self) -> None:
        setattr(_queue, "MAX_OVERTAKEN", MAX_OVERTAKEN)  # noqa: B010

    @invariant()
    def they_agree(self) -> None:
        if not hasattr(self, "queue"):
            return
        assert self.queue.next_at(self.now) == self.plain.next_at(self.now)
        assert len(self.queue) == sum(1 for w in self.plain.wanted.values() if w.due)
        assert {key for key in "abcdef" if key in self.queue} == self.plain.wanted.keys()
        depth: dict[int, int] = {}
        for request in self.plain.wanted.values():
            if request.due:
                depth[request.priority] = depth.get(request.priority, 0) + 1
        assert self.queue.metrics(self.now).depth == depth
        idle = self.plain.draining and not self.plain.wanted and not self.plain.running
        assert self.queue.finished == idle
        assert self.queue.running == len(self.plain.running) - len(self.kept)


QueueMachine.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=60, deadline=None)
TestQueueMachine = QueueMachine.TestCase


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=120))
def test_sc_13_a_key_with_k_older_ones_before_it_comes_after_at_most_ten_times_as_many(
    story: list[tuple[int, int]],
) -> None:
    """Each step adds a key of some priority and takes some; at the end a stream of high ones goes on."""
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
