"""A test's control of one controller: stop it, let it lag behind, make it fail."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from kubeproto.wire import exponential_backoff

from ...storage._storage import ResourceStorage, StoredEvent

FIRST_RETRY: Final = 0.005  # seconds, doubled with each failure, as in Go's controllers
_LONGEST_RETRY: Final = 1000.0


class ControllerSwitch:
    """One controller of a cluster, as a test sees it. It always notes changes, in any setting."""

    def __init__(self, name: str, notify: Callable[[], None]) -> None:
        self.name = name
        self._notify = notify
        self._running = True
        self._delay = 0.0
        self._failures: float = 0

    @property
    def running(self) -> bool:
        """Whether it does anything."""
        return self._running

    @property
    def delay(self) -> float:
        """How many seconds after a change it acts."""
        return self._delay

    def stop(self) -> None:
        """Let it do nothing until `start`, as if its process had stopped."""
        self._running = False

    def start(self) -> None:
        """Let it run again: it finds what has changed meanwhile."""
        self._running = True
        self._notify()

    def slow(self, seconds: float) -> None:
        """Let it act this many seconds after a change; 0 is at once."""
        if seconds < 0:
            raise ValueError(f"a controller cannot act before a change: {seconds!r} seconds")
        self._delay = seconds

    def fail(self, times: float = inf) -> None:
        """Let its next attempts fail, all of them if no number is given; it retries after a backoff.

        `fail(0)` ends that.
        """
        self._failures = times
        self._notify()

    def take_failure(self) -> bool:
        """Whether this attempt is to fail."""
        if self._failures <= 0:
            return False
        self._failures -= 1
        return True

    def copy_from(self, other: ControllerSwitch) -> None:
        """Copy the settings of another one."""
        self._running, self._delay, self._failures = other._running, other._delay, other._failures

    def __repr__(self) -> str:
        state = "running" if self._running else "stopped"
        return f"<{self.name}: {state}, delay {self._delay:g} s>"


class SwitchedWork:
    """Runs a part of the cluster that does all its work at once, as its switch says."""

    def __init__(
        self,
        switch: ControllerSwitch,
        on_event: Callable[[ResourceStorage, StoredEvent], None],
        work: Callable[[], bool],
        now: Callable[[], float],
    ) -> None:
        self.switch = switch
        self._note, self._work, self._now = on_event, work, now
        self._at = -inf  # when it may act next
        self._retries = 0

    def follows(self, resource: str) -> bool:
        """Return True: any change begins the delay that its switch may have."""
        return True

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note a change."""
        self._note(storage, event)
        if self.switch.delay and self._at <= self._now():
            self._at = self._now() + self.switch.delay

    @property
    def due(self) -> float | None:
        """When it acts next without a change; None if no time need pass for it."""
        return self._at if self.switch.running and self._at > self._now() else None

    def work(self) -> bool:
        """Do what is left to do, if it is time; return whether there was anything."""
        if not self.switch.running or self._at > self._now():
            return False
        if self.switch.take_failure():
            self._retries += 1
            self._at = self._now() + exponential_backoff(
                self._retries, initial=FIRST_RETRY, maximum=_LONGEST_RETRY
            )
            return False
        self._retries = 0
        return self._work()

    def copy_from(self, other: SwitchedWork) -> None:
        """Copy the settings of another one."""
        self.switch.copy_from(other.switch)
        self._at, self._retries = other._at, other._retries
