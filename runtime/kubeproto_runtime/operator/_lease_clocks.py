"""The clocks by which a leader decides how long it leads: the event loop's, or one that counts suspension."""

from __future__ import annotations

import sys
import time
from typing import Any, Final, Protocol

import anyio
from anyio.lowlevel import current_token

# Seconds. A loop reads its clock once an iteration, and keeps that time until the next.
_SAME: Final = 60.0


class MonotonicClock(Protocol):
    """A monotonic clock, in seconds."""

    def now(self) -> float:
        """The time."""
        ...

    async def sleep_until(self, at: float) -> None:
        """Return when it is that time."""
        ...


class LoopClock:
    """The clock of the event loop. It may stand still while the machine sleeps."""

    def now(self) -> float:
        """The time."""
        return anyio.current_time()

    async def sleep_until(self, at: float) -> None:
        """Return when it is that time."""
        await anyio.sleep_until(at)


class BootClock:
    """A clock that also runs while the machine sleeps, where the system has one.

    A leader on a laptop, or in a virtual machine that is paused, then sees within a second of waking up that
    its time is over. It is what `LeaderElector` uses on an ordinary event loop.
    """

    def now(self) -> float:
        """The time."""
        return _boot_time()

    async def sleep_until(self, at: float) -> None:
        """Return at that time; the loop's own timers would sleep longer."""
        while (left := at - _boot_time()) > 0:
            await anyio.sleep(min(left, 1.0))


def default_clock() -> MonotonicClock:
    """Return the clock for the running event loop: its own if its time is simulated."""
    return BootClock() if _is_real() else LoopClock()


def _is_real() -> bool:
    """Return whether the time of the running event loop is the machine's."""
    token = current_token()
    loop: Any = getattr(token, "native_token", token)
    if hasattr(loop, "time"):  # asyncio and uvloop read the machine's monotonic clock
        return abs(float(loop.time()) - time.monotonic()) < _SAME
    testing = sys.modules.get("trio.testing")  # without it, no simulated clock exists
    from trio.lowlevel import current_clock

    return testing is None or not isinstance(current_clock(), testing.MockClock)


def _boot_time() -> float:
    which = getattr(time, "CLOCK_BOOTTIME", None)
    if which is None and sys.platform == "darwin":
        which = time.CLOCK_MONOTONIC  # counts sleep there, where Python's monotonic() does not
    return time.monotonic() if which is None else time.clock_gettime(which)
