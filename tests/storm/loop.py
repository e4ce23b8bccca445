"""Event loops whose time is virtual and whose order of tasks a seed decides.

The loop of asyncio here has no selector: nothing in a storm waits for a socket, and a call of epoll for each
step would be a fifth of the time. It can also stop a process: what is due in the context of one that is
stopped is put aside until it goes on, as after SIGSTOP and SIGCONT.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar
from random import Random
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import anyio

from .plan import Backend

T = TypeVar("T")

_MANY_CANCELLED: Final = 100  # timers that were cancelled and are worth a new heap


class Pausable:
    """A process that can be stopped; the context of each of its tasks names it."""

    def __init__(self) -> None:
        self.paused = False
        self.parked: list[asyncio.Handle] = []


process_of: Final[ContextVar[Pausable | None]] = ContextVar("storm_process", default=None)


class StormLoop(asyncio.BaseEventLoop):
    """An event loop of asyncio whose clock jumps, and which shuffles the tasks that are ready."""

    # What asyncio itself keeps there.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng
        self._passed = 0.0
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._made = 0
        self.pausing = False  # whether any process is stopped

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._passed

    def create_task(self, coro: Any, **options: Any) -> Any:
        """Number each task: where they stand in memory must not decide their order."""
        task = super().create_task(coro, **options)
        self._made += 1
        self._numbers[task] = self._made
        return task

    def resume(self, process: Pausable) -> None:
        """Let a process go on with what came up while it was stopped."""
        process.paused = False
        parked, process.parked = process.parked, []
        self._ready.extend(parked)

    @property
    def timers(self) -> list[asyncio.TimerHandle]:
        """The timers that are still set."""
        return [timer for timer in self._scheduled if not timer.cancelled()]

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled
        if self._timer_cancelled_count > _MANY_CANCELLED:
            scheduled[:] = [timer for timer in scheduled if not timer.cancelled()]
            heapq.heapify(scheduled)
            self._timer_cancelled_count = 0
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
            self._timer_cancelled_count -= 1
        if not ready:
            if not scheduled:
                raise RuntimeError("nothing will ever happen again in this loop, and it has not ended")
            self._passed = max(self._passed, scheduled[0].when())
        while scheduled and scheduled[0].when() <= self._passed:
            timer = heapq.heappop(scheduled)
            if not timer.cancelled():
                ready.append(timer)
        if self.pausing:
            self._park()
        if len(ready) > 1:
            self._shuffle()
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    def _park(self) -> None:
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            context: Context = handle._context  # type: ignore[attr-defined]
            process = context.get(process_of)
            if process is not None and process.paused:
                process.parked.append(handle)
            else:
                self._ready.append(handle)

    def _shuffle(self) -> None:
        """Put the steps of different tasks in an order from the seed; everything else stays where it is."""
        numbers, ready = self._numbers, self._ready
        steps: list[tuple[int, int, asyncio.Handle]] = []
        for at, handle in enumerate(ready):
            task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
            if isinstance(task, asyncio.Task) and (number := numbers.get(task)) is not None:
                steps.append((number, at, handle))
        if len(steps) > 1:
            places = [at for _, at, _ in steps]
            steps.sort()
            self._rng.shuffle(steps)
            for at, (_, _, handle) in zip(places, steps, strict=True):
                ready[at] = handle

    # What a loop with sockets would do.

    def _process_events(self, event_list: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


class _Numbers:
    """Numbers objects in the order in which they are met: where they stand in memory differs between runs."""

    def __init__(self) -> None:
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._met = 0

    def number(self, one: Any) -> int:
        """The number of an object."""
        if one not in self._numbers:
            self._met += 1
            self._numbers[one] = self._met
        return self._numbers[one]


def run(main: Callable[[], Awaitable[T]], backend: Backend, seed: int) -> T:
    """Run a coroutine function in virtual time, with tasks in an order that the seed decides."""
    if backend == "asyncio":
        options: dict[str, Any] = {"loop_factory": lambda: StormLoop(Random(seed))}
        return anyio.run(main, backend=backend, backend_options=options)
    import trio
    from trio.testing import MockClock

    inside: Any = trio._core._run  # what Hypothesis does for the same purpose
    inside._ALLOW_DETERMINISTIC_SCHEDULING = True
    inside._r.seed(seed)
    inside.id = _Numbers().number  # scopes that expire at the same time do so in the order of their addresses
    return anyio.run(main, backend=backend, backend_options={"clock": MockClock(autojump_threshold=0)})
