"""A random walk through the work queue."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from kubeproto.control import LOW_PRIORITY, Rate, WorkQueue

from .walk import STEPS


def walk_queue(rng: Random) -> Iterator[str]:
    """Add keys, process them, and end by draining or immediately."""
    for _ in range(2):
        walk = _Queue(rng)
        for _ in range(STEPS):
            yield from walk.go()
        yield from walk.end()


class _Queue:
    """A queue, and its expected content: the running, held and pending keys."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.queue: WorkQueue[str] = WorkQueue(
            debounce=rng.choice((0.0, 0.0, 2.0)), rate=rng.choice((None, None, Rate(1.0, burst=2)))
        )
        self.crowded = rng.random() < 0.5  # more keys are added than done, most of them urgent
        self.now = 0.0
        self.running: list[str] = []
        self.held_keys: list[str] = []
        self.pending_keys: set[str] = set()

    def go(self) -> Iterator[str]:
        """Make one random step."""
        rng, queue = self.rng, self.queue
        self.now += rng.choice((0.0, 0.0, 0.1) if self.crowded else (0.0, 0.1, 1.0, 5.0))
        now, key = self.now, rng.choice("abcdefghijklmnop" if self.crowded else "abcdef")
        match rng.randrange(14):
            case 0 | 1 | 2:
                self._add(key)
            case 3 | 4 | 5 | 6:
                yield from self._get()
            case 7 | 8 if self.running:
                self._finish(self.running.pop(rng.randrange(len(self.running))))
            case 9 if self.held_keys:
                queue.release(self.held_keys.pop(), now)
            case 10:
                queue.forget(key)
            case 11 if rng.random() < 0.5:
                queue.discard(rng.choice(sorted(self.pending_keys) or [key]))
                self.pending_keys = {key_ for key_ in self.pending_keys if key_ in queue}
            case 12 | 13:
                rng.choice((queue.metrics, queue.count_delayed, queue.oldest_age))(now)
            case _:
                pass
        if rng.random() < 0.5:
            return  # otherwise only `next_at` would notice that time has passed
        next_time = queue.next_at(now)
        if next_time is not None and next_time < now:
            yield f"something is due at {next_time}, before {now}"
        if len(queue) and next_time is None:
            yield "what is due is never handed out"

    def _add(self, key: str) -> None:
        delay, priority = self.rng.choice((0.0, 0.0, 3.0)), self.rng.choice((0, 0, LOW_PRIORITY, 5))
        if self.crowded:
            delay, priority = 0.0, self.rng.choice((0, 5, 5, 5))
        self.queue.add(key, self.now, after=delay, priority=priority)
        self.pending_keys.add(key)

    def _get(self) -> Iterator[str]:
        if (work := self.queue.get(self.now)) is None:
            return
        if work.key in self.running or work.key in self.held_keys:
            yield f"{work.key} is handed out twice at once"
        if work.key not in self.pending_keys:
            yield f"{work.key} is handed out, and nobody wants it"
        self.pending_keys.discard(work.key)
        self.running.append(work.key)

    def _finish(self, key: str) -> None:
        rng, queue, now = self.rng, self.queue, self.now
        priority = rng.choice((None, None, 0, 5))
        if rng.random() < 0.4:
            queue.retry(key, now, priority=priority)
            self.pending_keys.add(key)
        elif rng.random() < 0.3:
            queue.requeue(key, now, after=rng.choice((0.0, 2.0)), priority=priority)
            self.pending_keys.add(key)
        hold = rng.random() < 0.2
        queue.done(key, now, hold=hold)
        self.held_keys += [key] if hold else []

    def end(self) -> Iterator[str]:
        """Stop, or drain to the last key."""
        queue, rng = self.queue, self.rng
        for key in self.running:
            queue.add(key, self.now, after=rng.choice((0.0, 9.0)))  # waits for the run to end
        self.now += rng.choice((0.0, 2.0, 4.0))
        if rng.random() < 0.2:
            queue.stop()
        else:
            queue.drain(self.now)
            yield from self._drain()
        if not queue.finished:
            yield "a queue that has ended has not finished"

    def _drain(self) -> Iterator[str]:
        queue = self.queue
        queue.add("late", self.now)
        for key in self.held_keys:
            queue.release(key, self.now)
        for key in self.running:
            queue.done(key, self.now)
        if "late" in queue:
            yield "a queue that drains has taken a key"
        while not queue.finished:
            self.now = max(self.now, queue.next_at(self.now) or self.now)
            if (work := queue.get(self.now)) is None:
                yield "a queue that drains never ends"
                return
            queue.done(work.key, self.now)
