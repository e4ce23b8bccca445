"""The clocks that measure the term of a leader."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
from anyio.lowlevel import current_token

from ..tasks._event_loop import loop_clock

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds. A loop may read its clock once per iteration, and return that time until the next iteration.
_TOLERANCE: Final = 60.0


class MonotonicClock(Protocol):
    """A monotonic clock, in seconds."""

    def now(self) -> float:
        """The time."""
        ...

    async def sleep_until(self, deadline: float) -> None:
        """Return at this time."""
        ...


class LoopClock:
    """The clock of the event loop. It may stop while the machine is suspended."""

    def __init__(self) -> None:
        self._read: Callable[[], float] | None = None

    def now(self) -> float:
        """The time. After the first call in the event loop, threads can call it too: `LeaseFence` does."""
        if self._read is None:
            self._read = loop_clock()
        return self._read()

    async def sleep_until(self, deadline: float) -> None:
        """Return at this time."""
        await anyio.sleep_until(deadline)


class BootClock:
    """A clock that continues while the machine is suspended, if the system has such a clock.

    A leader on a laptop, or in a paused virtual machine, notices within a second after the resumption that
    its term has ended. `LeaderElector` uses this clock unless time is simulated.
    """

    def now(self) -> float:
        """The time."""
        return _boot_time()

    async def sleep_until(self, deadline: float) -> None:
        """Sleep until this time. The timers of the event loop do not count suspended time."""
        while (seconds := deadline - _boot_time()) > 0:
            await anyio.sleep(min(seconds, 1.0))


def default_clock() -> MonotonicClock:
    """Return a `BootClock`; if the event loop simulates time, a `LoopClock`."""
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
        clock_id = time.CLOCK_MONOTONIC  # on macOS it counts suspension, and Python's monotonic() does not
    return time.monotonic() if clock_id is None else time.clock_gettime(clock_id)
