"""`Workers`: long-lived tasks that take keys from a `WorkQueue`, and are woken when a key is added.

    add, wake ──► an idle or a new worker ──► get ─► perform ─► done ─┐
                                               ▲                      │
                                               └──────────────────────┘

`tests/runtime/plain_workers.py` is a plain form of it, with one task for each run; random tests compare the
two. Read it first. With it an empty run takes 31 µs on asyncio and 40 µs on trio, and here 1.3 and 2.4 µs
(Python 3.11, ten workers, from `WorkQueue.get` to `done`):

| duration of an empty run, in µs | asyncio | trio |
|---|---|---|
| this module | 1.3 | 2.4 |
| with a coroutine for each run, stepped with `send` until it waits | 2.1 | 3.6 |
| with a cancel scope for each run, in place of one for each worker | 6.6 | 11.6 |
| with a task for each run | 31 | 40 |

- A key needs no timer before its run. One task, the watchdog, sleeps until a delayed key is due or a run is
  overdue; if there is neither, it sleeps forever.
- A worker takes keys until one of its runs waits. Then another worker is woken. So runs that only compute
  need no task switch, and runs that wait are concurrent.
- A worker that has run for a millisecond yields to the rest of the program; if other workers take keys as
  well, it becomes idle instead, so that the event loop is never blocked for longer than that.
- A run that takes too long is cancelled by the scope of its worker, which continues with a new scope.
- No run begins after the cancellation of the task that called `run`, or if `may_begin` returns False. A
  cancelled task group does not ensure that: on asyncio, tasks that are started in it while it contains only
  shielded tasks are never cancelled, and on trio they run to their first checkpoint.
  `operator/_lease_fence.py` explains how the end of a leader's term depends on that.
"""

from __future__ import annotations

from math import inf
from types import coroutine
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from ..calls._run_writes import current_writes
from ..tasks._event_loop import loop_clock
from ..tasks._stray_cancellations import is_cancelled, supervise

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from anyio.abc import TaskGroup

    from kubeproto.control import Work, WorkQueue

    from ..calls._run_writes import ClientWrite

Key = TypeVar("Key")
T = TypeVar("T")

_MAX_SLICE: Final = 0.001  # seconds for which workers do not yield to the event loop
_MAX_RUNS: Final = 256  # runs before a worker yields, for tests in which the clock stands still
_CLEANUP_TIME: Final = 60.0  # seconds that a run may take to clean up after its cancellation


class Workers(Generic[Key]):
    """Runs the keys of a queue: at most `concurrency` at a time, each for at most `limit` seconds.

    `perform` begins a run. It returns None if the run has ended, or a coroutine that continues it. It handles
    the failures of a run, with two exceptions. `on_timeout` is called with a run that exceeded its limit, and
    the error that it raised after its cancellation, if any. `on_error` is called with the error that a run
    raised after the cancellation of all runs, if it is raised together with the cancellation (on trio).

    `hold` is called for a run that has sent writes, with its key, its writes, its begin and its end. It
    returns whether the key must wait until it is released.
    """

    def __init__(
        self,
        queue: WorkQueue[Key],
        perform: Callable[[Work[Key]], Coroutine[Any, Any, None] | None],
        *,
        on_timeout: Callable[[Work[Key], Exception | None], None],
        on_error: Callable[[Work[Key], Exception], None],
        may_begin: Callable[[], bool] | None,
        hold: Callable[[Key, list[ClientWrite], float, float], bool],
        concurrency: int,
        limit: float | None,
    ) -> None:
        self._queue = queue
        self._perform = perform
        self._on_timeout = on_timeout
        self._on_error = on_error
        self._may_begin = may_begin
        self._hold = hold
        self._concurrency = concurrency
        self._limit = inf if limit is None else limit
        self._clock: Callable[[], float] = anyio.current_time
        self._tasks: TaskGroup | None = None
        self._workers: dict[_Worker[Key], None] = {}  # a set would be ordered by address, which varies
        self._idle: list[anyio.Event] = []
        self._awake = 0  # workers that take keys: neither idle nor waiting in a run
        self._alarm = inf  # the time at which the watchdog wakes up
        self._alarm_changed = anyio.Event()
        self._stopped = False
        self._stop = anyio.Event()

    async def run(self) -> None:
        """Run keys until stopped, and until the last run has ended. It can be called again after a
        cancellation."""
        self._clock = loop_clock()
        try:
            async with anyio.create_task_group() as watching:
                watching.start_soon(self._watch_time)
                async with anyio.create_task_group() as tasks:
                    self._tasks = tasks
                    try:
                        self.wake()
                        await self._stop.wait()
                    finally:
                        self._tasks = None  # no worker is started any more, and none takes another key
                watching.cancel_scope.cancel()
        finally:
            self._release_keys()

    def _release_keys(self) -> None:
        """Release the keys of cancelled runs, in the order of the runs, for the next call of `run`."""
        now, self._tasks = self._clock(), None
        for worker in sorted(self._workers, key=lambda worker: worker.began):
            if (work := worker.work) is not None:
                self._queue.add(work.key, now, priority=work.priority, reason=work.reason)
                self._queue.done(work.key, now)
        self._workers.clear()
        self._idle.clear()
        self._awake, self._alarm = 0, inf

    def wake(self) -> None:
        """Wake a worker if a key is due, or the watchdog if a key will be due."""
        if self._awake or self._tasks is None or self._stopped:
            return  # an awake worker looks for due keys before it becomes idle
        if self._may_begin is not None and not self._may_begin():
            return
        now = self._clock()
        next_at = self._queue.next_at(now)
        if next_at is None:
            return
        if next_at <= now:
            self._wake_worker()
        else:
            self._set_alarm(next_at)

    def stop(self) -> None:
        """Take no more keys; current runs may end."""
        self._stopped = True
        self._stop.set()
        while self._idle:
            self._wake_worker()

    def stuck_keys(self, now: float) -> list[Key]:
        """Return the keys of runs that have not ended although they were cancelled a minute ago."""
        latest = now - self._limit - _CLEANUP_TIME
        return [
            worker.work.key for worker in self._workers if worker.work is not None and worker.began < latest
        ]

    # Workers

    def _wake_worker(self) -> None:
        """Wake an idle worker, or start a worker if there are fewer than `concurrency`."""
        if self._idle:
            self._awake += 1
            self._idle.pop().set()
        elif self._tasks is not None and len(self._workers) < self._concurrency:
            self._awake += 1
            worker = _Worker[Key]()
            self._workers[worker] = None
            self._tasks.start_soon(supervise, self._work, worker)

    async def _work(self, worker: _Worker[Key]) -> None:
        current_writes.set(worker.writes)
        again = True
        while again:
            worker.scope, error = anyio.CancelScope(), None
            try:
                with worker.scope:
                    again = await self._take_keys(worker)
            except Exception as raised:
                if not worker.scope.cancel_called or worker.work is None:
                    raise
                error = raised
            except BaseExceptionGroup as group:
                # On trio, an error that a run raises after a cancellation is raised in a group with the
                # cancellation.
                cancelled, others = group.split(anyio.get_cancelled_exc_class())
                failure: Any = others
                if cancelled is None or worker.work is None or not isinstance(failure, Exception):
                    raise
                self._on_error(worker.work, failure)
                self._end_run(worker, worker.work, self._clock())
                raise cancelled from None
            if worker.work is not None:
                self._on_timeout(worker.work, error)
                self._end_run(worker, worker.work, self._clock())
        self._workers.pop(worker, None)

    async def _take_keys(self, worker: _Worker[Key]) -> bool:
        """Run keys until stopped. Return True if a run was cancelled and the worker needs a new scope."""
        # Cached in local variables, because an empty run spends most of its time in this loop.
        queue, perform, read_clock, may_begin = self._queue, self._perform, self._clock, self._may_begin
        now = read_clock()
        runs, slice_end, waited = 0, now + _MAX_SLICE, True
        while not self._stopped:
            if waited and (self._tasks is None or is_cancelled()):
                break
            waited = False
            work = queue.get(now) if may_begin is None or may_begin() else None
            if work is None:
                await self._wait_idle()
                runs, slice_end, waited = 0, read_clock() + _MAX_SLICE, True
            else:
                worker.work, worker.began = work, now
                if now + self._limit < self._alarm:
                    self._set_alarm(now + self._limit)
                continuation = perform(work)
                if continuation is not None:
                    await _with_wait_callback(continuation, self._on_wait, worker)
                now, runs, waited = read_clock(), runs + 1, worker.waits
                if waited or worker.writes:
                    self._end_run(worker, work, now)
                    if worker.scope.cancel_called:
                        return True
                else:  # `_end_run` inlined, because its call takes 0.05 of the 1.3 µs of an empty run
                    worker.work = None
                    queue.done(work.key, now)
                if now < slice_end and runs < _MAX_RUNS:
                    continue
                if self._awake > 1 and not self._stopped:
                    await self._wait_idle()
                else:
                    await checkpoint()
                runs, slice_end, waited = 0, read_clock() + _MAX_SLICE, True
            now = read_clock()
        self._awake -= 1
        return False

    def _end_run(self, worker: _Worker[Key], work: Work[Key], now: float) -> None:
        worker.work, hold = None, False
        if worker.writes:
            hold = self._hold(work.key, worker.writes, worker.began, now)
            worker.writes.clear()
        self._queue.done(work.key, now, hold=hold)
        if worker.waits:
            worker.waits = False
            self._awake += 1

    def _on_wait(self, worker: _Worker[Key]) -> None:
        """Record that a run waits, and wake another worker."""
        worker.waits = True
        self._awake -= 1
        self.wake()

    async def _wait_idle(self) -> None:
        woken = anyio.Event()
        self._idle.append(woken)
        self._awake -= 1
        self.wake()
        await woken.wait()

    # The watchdog

    def _set_alarm(self, time: float) -> None:
        if time < self._alarm:
            self._alarm = time
            self._alarm_changed.set()

    async def _watch_time(self) -> None:
        while True:
            now = self._clock()
            next_at = self._queue.next_at(now)
            # A key that is already due waits for a worker, and needs no alarm.
            self._alarm = min(
                self._cancel_overdue(now), inf if next_at is None or next_at <= now else next_at
            )
            self._alarm_changed = anyio.Event()
            self.wake()
            with anyio.CancelScope(deadline=self._alarm):
                await self._alarm_changed.wait()

    def _cancel_overdue(self, now: float) -> float:
        """Cancel the runs that exceed their limit. Return the time at which the next run will exceed it."""
        next_limit = inf
        for worker in self._workers:
            if worker.work is None or worker.scope.cancel_called:
                continue
            if (limit := worker.began + self._limit) <= now:
                worker.scope.cancel()
            else:
                next_limit = min(next_limit, limit)
        return next_limit


class _Worker(Generic[Key]):
    """The state of a worker: its key, the begin of the run, whether the run waits, and its writes."""

    __slots__ = ("began", "scope", "waits", "work", "writes")

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.work: Work[Key] | None = None
        self.began = 0.0
        self.waits = False
        self.writes: list[ClientWrite] = []


@coroutine
def _with_wait_callback(
    run: Coroutine[Any, Any, None], on_wait: Callable[[_Worker[Key]], None], worker: _Worker[Key]
) -> Generator[Any, Any, None]:
    """Await a coroutine, and call `on_wait` when it waits for the first time."""
    try:
        trap = run.send(None)
    except StopIteration:
        return
    on_wait(worker)
    yield from resumed(run, trap)  # pyright: ignore[reportGeneralTypeIssues]


@coroutine
def resumed(run: Coroutine[Any, Any, T], trap: Any) -> Generator[Any, Any, T]:
    """Await a coroutine after its first step, in which it yielded `trap`.

    This is `yield from` (PEP 380) after its first step, for which Python has no syntax.
    """
    try:
        while True:
            try:
                value = yield trap
            except GeneratorExit:
                run.close()
                raise
            except BaseException as error:
                trap = run.throw(error)
            else:
                trap = run.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result
