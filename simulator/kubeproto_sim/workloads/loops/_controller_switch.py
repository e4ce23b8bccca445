"""The switch by which a test stops, delays or fails a controller."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from kubeproto.wire import exponential_backoff

from ...storage._storage import ResourceStorage, StoredEvent

_INITIAL_RETRY: Final = 0.005  # seconds, doubled with each failure, as in Go's controllers
_MAX_RETRY: Final = 1000.0


class ControllerSwitch:
    """A controller of a cluster, as a test controls it. It receives changes even while it is stopped."""

    def __init__(self, name: str, notify: Callable[[], None]) -> None:
        self.name = name
        self._notify = notify
        self._running = True
        self._delay = 0.0
        self._failures: float = 0

    @property
    def running(self) -> bool:
        """Whether the controller acts on changes."""
        return self._running

    @property
    def delay(self) -> float:
        """The seconds between a change and the reaction of the controller."""
        return self._delay

    def stop(self) -> None:
        """Stop the controller until `start`, as if its process had stopped."""
        self._running = False

    def start(self) -> None:
        """Start the controller again: it acts on the changes since `stop`."""
        self._running = True
        self._notify()

    def slow(self, seconds: float) -> None:
        """Delay each reaction to a change by this many seconds."""
        if seconds < 0:
            raise ValueError(f"a controller cannot act before a change: {seconds!r} seconds")
        self._delay = seconds

    def fail(self, times: float = inf) -> None:
        """Make the next `count` syncs fail, or all of them without a number; each is retried after a backoff.

        `fail(0)` ends the failures.
        """
        self._failures = times
        self._notify()

    def take_failure(self) -> bool:
        """Return whether this sync must fail, and count it."""
        if self._failures <= 0:
            return False
        self._failures -= 1
        return True

    def copy_from(self, other: ControllerSwitch) -> None:
        """Copy the settings of another switch."""
        self._running, self._delay, self._failures = other._running, other._delay, other._failures

    def __repr__(self) -> str:
        state = "running" if self._running else "stopped"
        return f"<{self.name}: {state}, delay {self._delay:g} s>"


class SwitchedController:
    """A controller without a queue, which a switch can stop, delay or fail."""

    def __init__(
        self,
        switch: ControllerSwitch,
        on_event: Callable[[ResourceStorage, StoredEvent], None],
        work: Callable[[], bool],
        now: Callable[[], float],
    ) -> None:
        self.switch = switch
        self._on_event, self._work, self._now = on_event, work, now
        self._resume_at = -inf
        self._retries = 0

    def follows(self, resource: str) -> bool:
        """Return True: any change starts the delay of the switch."""
        return True

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Pass a change to the controller, and start the delay."""
        self._on_event(storage, event)
        if self.switch.delay and self._resume_at <= self._now():
            self._resume_at = self._now() + self.switch.delay

    @property
    def next_due(self) -> float | None:
        """The time at which the delay ends; None if the controller does not wait."""
        return self._resume_at if self.switch.running and self._resume_at > self._now() else None

    def work(self) -> bool:
        """Run the controller unless it is stopped or delayed; return whether it did anything."""
        if not self.switch.running or self._resume_at > self._now():
            return False
        if self.switch.take_failure():
            self._retries += 1
            self._resume_at = self._now() + exponential_backoff(
                self._retries, initial=_INITIAL_RETRY, maximum=_MAX_RETRY
            )
            return False
        self._retries = 0
        return self._work()

    def copy_from(self, other: SwitchedController) -> None:
        """Copy the settings of another controller."""
        self.switch.copy_from(other.switch)
        self._resume_at, self._retries = other._resume_at, other._retries
