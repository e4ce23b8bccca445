"""`Workers`: tasks that stay, take keys from a `WorkQueue`, and are woken when a key is added.

    add, stir ──► a worker that rests, or a new one ──► get ─► perform ─► done ─┐
                                                         ▲                      │
                                                         └──────────────────────┘

- No timer is between a key and its run. One task, the watchdog, sleeps until a delayed key is due or a run
  is overdue; while there is neither, it sleeps forever.
- One worker takes keys as long as no run of it has to wait. Once it waits, another one is woken: so runs
  that only compute cost no switch of tasks, and runs that wait do so side by side.
- A worker that has run for a millisecond yields to the rest of the program; if others take keys as well, it
  rests instead, so that the loop is never blocked for longer than that.
- A run that takes too long is cancelled by the scope of its worker, which continues with a new one. A scope
  for each run would cost more than everything else here.
- No run begins once the task that called `run` is being cancelled, or `may_begin` says no. A cancelled task
  group does not ensure that: on asyncio, tasks that are started in it while only shielded ones are left are
  never cancelled, and on trio they run to their first checkpoint.
"""

from __future__ import annotations

import asyncio
import time
from math import inf
from types import coroutine
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from ..calls._written import written
from ..tasks._background import event_loop
from ..tasks._stray_cancellations import complain, is_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from anyio.abc import TaskGroup

    from kubeproto.control import Work, WorkQueue

    from ..calls._written import Written

Key = TypeVar("Key")
T = TypeVar("T")

_SLICE: Final = 0.001  # seconds that workers keep the event loop to themselves
_LENIENCE: Final = 60.0  # seconds that a run may take to clean up after it was cancelled
_RUNS: Final = 256  # the same as a number of runs, for tests in which time stands still


class Workers(Generic[Key]):
    """Runs what a queue hands out: `concurrency` keys at a time, each for at most `limit` seconds.

    `perform` begins a run. It returns None if the run has ended, which costs least, or a coroutine for what
    is left of it. It handles everything that can go wrong in a run, except its timeout; that is for `cut`,
    which gets the error that the run raised on its cancellation, if any. `fail` gets the error that a run
    raised when all of it was cancelled, where that comes out together with the cancellation (on trio).
    `hold` is called for a run that has written something, with its key, what it has written, when it began
    and when it ended: it returns whether its key waits until released.
    """

    def __init__(
        self,
        queue: WorkQueue[Key],
        perform: Callable[[Work[Key]], Coroutine[Any, Any, None] | None],
        cut: Callable[[Work[Key], Exception | None], None],
        *,
        concurrency: int,
        limit: float | None,
        fail: Callable[[Work[Key], Exception], None] | None = None,
        may_begin: Callable[[], bool] | None = None,
        hold: Callable[[Key, list[Written], float, float], bool] | None = None,
    ) -> None:
        self._queue = queue
        self._hold = hold
        self._perform = perform
        self._cut = cut
        self._fail = fail or cut
        self._may_begin = may_begin
        self._concurrency = concurrency
        self._limit = inf if limit is None else limit
        self._clock: Callable[[], float] = anyio.current_time
        self._tasks: TaskGroup | None = None
        self._posts: dict[_Post[Key], None] = {}  # a set would be ordered by address, which varies
        self._resting: list[anyio.Event] = []
        self._awake = 0  # workers that take keys: neither at rest nor waiting in a run
        self._alarm = inf  # what the watchdog sleeps until
        self._nudge = anyio.Event()
        self._stopped = False
        self._stop = anyio.Event()

    async def run(self) -> None:
        """Work until stopped, and until the last run has ended; after a cancellation it can be run again."""
        self._clock = clock()
        try:
            async with anyio.create_task_group() as keeping:
                keeping.start_soon(self._keep_time)
                async with anyio.create_task_group() as tasks:
                    self._tasks = tasks
                    try:
                        self.stir()
                        await self._stop.wait()
                    finally:
                        self._tasks = None  # no worker is made any more, and none takes another key
                keeping.cancel_scope.cancel()
        finally:
            self._leave()

    def _leave(self) -> None:
        """Release the keys of runs that were cancelled, in their order: they wait for the next workers."""
        now, self._tasks = self._clock(), None
        for post in sorted(self._posts, key=lambda post: post.since):
            if (work := post.work) is not None:
                self._queue.add(work.key, now, priority=work.priority, reason=work.reason)
                self._queue.done(work.key, now)
        self._posts.clear()
        self._resting.clear()
        self._awake, self._alarm = 0, inf

    def stir(self) -> None:
        """Note that something may be due, now or later, and wake a worker for it."""
        if self._awake or self._tasks is None or self._stopped:
            return  # a worker that is awake looks by itself before it rests
        if self._may_begin is not None and not self._may_begin():
            return
        now = self._clock()
        at = self._queue.next_at(now)
        if at is None:
            return
        if at <= now:
            self._call()
        else:
            self._wake_watchdog(at)

    def stop(self) -> None:
        """Take no more keys; runs may end."""
        self._stopped = True
        self._stop.set()
        while self._resting:
            self._call()

    def stuck(self, now: float) -> list[Key]:
        """Return the keys of runs that continue although they were cancelled a while ago."""
        long_ago = now - self._limit - _LENIENCE
        return [post.work.key for post in self._posts if post.work is not None and post.since < long_ago]

    # Workers

    def _call(self) -> None:
        """Wake another worker, if there is one that rests or may be made."""
        if self._resting:
            self._awake += 1
            self._resting.pop().set()
        elif self._tasks is not None and len(self._posts) < self._concurrency:
            self._awake += 1
            post = _Post[Key]()
            self._posts[post] = None
            self._tasks.start_soon(complain, self._work, post)

    async def _work(self, post: _Post[Key]) -> None:
        written.set(post.written)
        again = True
        while again:
            post.scope, error = anyio.CancelScope(), None
            try:
                with post.scope:
                    again = await self._take_turns(post)
            except Exception as raised:
                if not post.scope.cancel_called or post.work is None:
                    raise
                error = raised
            except BaseExceptionGroup as group:
                # On trio, an error that a run raises on a cancellation comes out together with the
                # cancellation.
                cancelled, rest = group.split(anyio.get_cancelled_exc_class())
                failure: Any = rest
                if cancelled is None or post.work is None or not isinstance(failure, Exception):
                    raise
                self._fail(post.work, failure)
                self._end_run(post, post.work, self._clock())
                raise cancelled from None
            if post.work is not None:
                self._cut(post.work, error)
                self._end_run(post, post.work, self._clock())
        self._posts.pop(post, None)

    async def _take_turns(self, post: _Post[Key]) -> bool:
        """Take keys until stopped, or until a run was cancelled: then return True, for another scope."""
        queue, perform, read_clock, may_begin = self._queue, self._perform, self._clock, self._may_begin
        now = read_clock()
        runs, rest_at, waited = 0, now + _SLICE, True
        while not self._stopped:
            if waited and (self._tasks is None or is_cancelled()):
                break
            waited = False
            work = queue.get(now) if may_begin is None or may_begin() else None
            if work is None:
                await self._rest()
                runs, rest_at, waited = 0, read_clock() + _SLICE, True
            else:
                post.work, post.since = work, now
                if now + self._limit < self._alarm:
                    self._wake_watchdog(now + self._limit)
                rest = perform(work)
                if rest is not None:
                    await _noticing(rest, self._wait, post)
                now, runs, waited = read_clock(), runs + 1, post.waiting
                if waited or post.written:
                    self._end_run(post, work, now)
                    if post.scope.cancel_called:
                        return True
                else:
                    post.work = None
                    queue.done(work.key, now)
                if now < rest_at and runs < _RUNS:
                    continue
                if self._awake > 1 and not self._stopped:
                    await self._rest()
                else:
                    await checkpoint()
                runs, rest_at, waited = 0, read_clock() + _SLICE, True
            now = read_clock()
        self._awake -= 1
        return False

    def _end_run(self, post: _Post[Key], work: Work[Key], now: float) -> None:
        post.work, hold = None, False
        if post.written:
            hold = self._hold is not None and self._hold(work.key, post.written, post.since, now)
            post.written.clear()
        self._queue.done(work.key, now, hold=hold)
        if post.waiting:
            post.waiting = False
            self._awake += 1

    def _wait(self, post: _Post[Key]) -> None:
        """Note that a run waits for something: other workers may take keys."""
        post.waiting = True
        self._awake -= 1
        self.stir()

    async def _rest(self) -> None:
        called = anyio.Event()
        self._resting.append(called)
        self._awake -= 1
        self.stir()
        await called.wait()

    # The watchdog

    def _wake_watchdog(self, at: float) -> None:
        if at < self._alarm:
            self._alarm = at
            self._nudge.set()

    async def _keep_time(self) -> None:
        while True:
            now = self._clock()
            due = self._queue.next_at(now)
            # What is due is for the next free worker: that is no reason to stay awake.
            self._alarm = min(self._cut_overdue(now), inf if due is None or due <= now else due)
            self._nudge = anyio.Event()
            self.stir()
            with anyio.CancelScope(deadline=self._alarm):
                await self._nudge.wait()

    def _cut_overdue(self, now: float) -> float:
        """Cancel what has run for too long; return when the next one will have."""
        soonest = inf
        for post in self._posts:
            if post.work is None or post.scope.cancel_called:
                continue
            if (end := post.since + self._limit) <= now:
                post.scope.cancel()
            else:
                soonest = min(soonest, end)
        return soonest


class _Post(Generic[Key]):
    """The state of one worker: its key and since when, whether its run waits, and what it has written."""

    __slots__ = ("scope", "since", "waiting", "work", "written")

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.work: Work[Key] | None = None
        self.since = 0.0
        self.waiting = False
        self.written: list[Written] = []


@coroutine
def _noticing(
    run: Coroutine[Any, Any, None], wait: Callable[[_Post[Key]], None], post: _Post[Key]
) -> Generator[Any, Any, None]:
    """Await a coroutine, and report when it waits for the first time, if it does."""
    try:
        trap = run.send(None)
    except StopIteration:
        return
    wait(post)
    yield from resumed(run, trap)  # pyright: ignore[reportGeneralTypeIssues]


@coroutine
def resumed(run: Coroutine[Any, Any, T], trap: Any) -> Generator[Any, Any, T]:
    """Await a coroutine that has begun, and that waits for `trap`."""
    try:
        while True:
            try:
                sent = yield trap
            except GeneratorExit:
                run.close()
                raise
            except BaseException as error:
                trap = run.throw(error)
            else:
                trap = run.send(sent)
    except StopIteration as stop:
        ended: T = stop.value
        return ended


def clock() -> Callable[[], float]:
    """The clock of the running event loop; `anyio.current_time` looks for the loop each time, for a µs."""
    if event_loop() == "trio":
        from trio.lowlevel import current_clock

        return current_clock().current_time
    loop = asyncio.get_running_loop()
    # A method that only calls another function, unless this loop has a time of its own.
    own: Any = getattr(loop.time, "__func__", None)
    return time.monotonic if own is asyncio.BaseEventLoop.time else loop.time
