"""The clocks by which a leader decides how long it leads."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
from anyio.lowlevel import current_token

from ..tasks._event_loop import loop_clock

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds. A loop may read its clock once in an iteration, and return that time until the next one.
_TOLERANCE: Final = 60.0


class MonotonicClock(Protocol):
    """A monotonic clock, in seconds."""

    def now(self) -> float:
        """The time."""
        ...

    async def sleep_until(self, at: float) -> None:
        """Return at that time."""
        ...


class LoopClock:
    """The clock of the event loop. It may stand still while the machine sleeps."""

    def __init__(self) -> None:
        self._read: Callable[[], float] | None = None

    def now(self) -> float:
        """The time; after the first call in the event loop, also in threads, which `LeaseFence` fences."""
        if self._read is None:
            self._read = loop_clock()
        return self._read()

    async def sleep_until(self, at: float) -> None:
        """Return at that time."""
        await anyio.sleep_until(at)


class BootClock:
    """A clock that also runs while the machine sleeps, where the system has one.

    A leader on a laptop, or in a paused virtual machine, notices within a second after waking up that its
    term has ended. `LeaderElector` uses this clock unless time is simulated.
    """

    def now(self) -> float:
        """The time."""
        return _boot_time()

    async def sleep_until(self, at: float) -> None:
        """Return at that time; the timers of the event loop do not count the sleep of the machine."""
        while (seconds := at - _boot_time()) > 0:
            await anyio.sleep(min(seconds, 1.0))


def default_clock() -> MonotonicClock:
    """Return the clock for the running event loop: its own if its time is simulated."""
    return BootClock() if _is_real() else LoopClock()


def _is_real() -> bool:
    """Return whether the time of the running event loop is the machine's."""
    token = current_token()
    loop: Any = getattr(token, "native_token", token)
    if hasattr(loop, "time"):  # asyncio and uvloop read the machine's monotonic clock
        return abs(float(loop.time()) - time.monotonic()) < _TOLERANCE
    testing = sys.modules.get("trio.testing")  # without it, no simulated clock exists
    from trio.lowlevel import current_clock

    return testing is None or not isinstance(current_clock(), testing.MockClock)


def _boot_time() -> float:
    clock_id = getattr(time, "CLOCK_BOOTTIME", None)
    if clock_id is None and sys.platform == "darwin":
        clock_id = time.CLOCK_MONOTONIC  # counts sleep there, where Python's monotonic() does not
    return time.monotonic() if clock_id is None else time.clock_gettime(clock_id)
