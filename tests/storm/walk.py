"""`Walk`: a machine with random events, and the invariants of each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import kubeproto as kp
from kubeproto.wire import (
    Broken,
    Conflicted,
    Expired,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
    Unreadable,
    Unsupported,
)

STEPS: Final = 120

OUTCOMES: Final[tuple[Outcome, ...]] = (
    Broken("reset"), TimedOut("silent"), Unreachable("refused"), Throttled("busy", 429, 3.0),
    ServerFailed("no", 500), Refused("no", 403), Refused("no", 404), Rejected("no", 400), Garbled("?"),
    Conflicted("no", 409), Expired("old", 410), Expired("old", 410, token="t9"), TooLarge("new", 504),
    Unsupported("old", 400), Unreadable("corrupt", 500),
)  # fmt: skip


class Walk:
    """A machine, its state and its last actions."""

    def __init__(self, step: Callable[[Any, Any, float], Any], state: Any, now: float = 1000.0) -> None:
        self.step, self.state, self.now = step, state, now
        self.actions: tuple[Any, ...] = ()

    def go(self, event: Any) -> str:
        """Step the machine, and yield the violated invariants."""
        previous_state = self.state
        try:
            self.state, self.actions = self.step(previous_state, event, self.now)
        except kp.LocalProtocolError:
            self.actions = ()
            return ""
        except Exception as error:
            return f"{type(error).__name__} from {event!r} in {previous_state!r}: {error}"
        for action in self.actions:
            time, latest = getattr(action, "at", self.now), getattr(action, "latest", None)
            if time < self.now or (latest is not None and latest < time):
                return f"{action!r} is due in the past, at {self.now}, for {event!r} in {previous_state!r}"
        sends = [action_ for action_ in self.actions if type(action_).__name__.startswith("Send")]
        return f"two requests at once: {sends!r}" if len(sends) > 1 else ""
