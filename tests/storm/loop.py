"""Event loops whose time is virtual and whose order of tasks is determined by a seed.

The asyncio loop has no selector: no task in a storm waits for a socket, and a call of epoll for each step
would take a fifth of the time. The loop can also pause a process: handles that are due in the context of a
paused process wait until it resumes, as after SIGSTOP and SIGCONT.
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
    """A process that can be paused; the context of each of its tasks names it."""

    def __init__(self) -> None:
        self.paused = False
        self.parked: list[asyncio.Handle] = []


process_of: Final[ContextVar[Pausable | None]] = ContextVar("storm_process", default=None)


class StormLoop(asyncio.BaseEventLoop):
    """An event loop of asyncio whose clock jumps, and which shuffles the tasks that are ready."""

    # Attributes of asyncio's own loop.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng
        self._passed = 0.0
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._task_count = 0
        self.pausing = False  # whether any process is paused

    def time(self) -> float:
        """Return the virtual seconds since the start of the loop."""
        return self._passed

    def create_task(self, coro: Any, **options: Any) -> Any:
        """Number each task: its address must not determine its order."""
        task = super().create_task(coro, **options)
        self._task_count += 1
        self._numbers[task] = self._task_count
        return task

    def resume(self, process: Pausable) -> None:
        """Resume a process with the handles that became due while it was paused."""
        process.paused = False
        parked, process.parked = process.parked, []
        self._ready.extend(parked)

    @property
    def timers(self) -> list[asyncio.TimerHandle]:
        """Return the timers that are still set."""
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
        """Shuffle the steps of different tasks by the seed; all other handles keep their positions."""
        numbers, ready = self._numbers, self._ready
        steps: list[tuple[int, int, asyncio.Handle]] = []
        for index, handle in enumerate(ready):
            task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
            if isinstance(task, asyncio.Task) and (number := numbers.get(task)) is not None:
                steps.append((number, index, handle))
        if len(steps) > 1:
            indexes = [index for _, index, _ in steps]
            steps.sort()
            self._rng.shuffle(steps)
            for index, (_, _, handle) in zip(indexes, steps, strict=True):
                ready[index] = handle

    # Methods that a loop with sockets needs.

    def _process_events(self, event_list: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


class _Numbers:
    """Numbers objects in the order of their first use: their addresses differ between runs."""

    def __init__(self) -> None:
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._met = 0

    def number(self, obj: Any) -> int:
        """Return the number of an object."""
        if obj not in self._numbers:
            self._met += 1
            self._numbers[obj] = self._met
        return self._numbers[obj]


def run(main: Callable[[], Awaitable[T]], backend: Backend, seed: int) -> T:
    """Run a coroutine function in virtual time, with tasks in an order that the seed decides."""
    if backend == "asyncio":
        options: dict[str, Any] = {"loop_factory": lambda: StormLoop(Random(seed))}
        return anyio.run(main, backend=backend, backend_options=options)
    import trio
    from trio.testing import MockClock

    inside: Any = trio._core._run  # Hypothesis does the same for the same purpose
    inside._ALLOW_DETERMINISTIC_SCHEDULING = True
    inside._r.seed(seed)
    inside.id = _Numbers().number  # scopes that expire at the same time do so in the order of their addresses
    return anyio.run(main, backend=backend, backend_options={"clock": MockClock(autojump_threshold=0)})
