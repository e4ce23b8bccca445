"""The leaving phase of the election: the lease is looked at and given back, until a deadline."""

from __future__ import annotations

from ..wire import Conflicted, Outcome, Refused
from ._election_lease import Step, clear, is_mine, note, refuse
from ._election_values import (
    Abandon,
    Clearing,
    Ended,
    Event,
    Failed,
    Found,
    Leaving,
    SendGet,
    Stopped,
    Wrote,
)


def step_leaving(state: Leaving | Clearing, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the leaving phase."""
    match state, event:
        case Leaving(course, deadline), Found(lease) if is_mine(course, lease):
            return Clearing(course, deadline), (clear(lease, now),)
        case Leaving(course), Found(lease):
            # Another has it: clearing it would end that one's term.
            return Ended(course.candidate), note(course, lease, now)[1]
        case Leaving(course), Failed(Refused(code=404)):
            return Ended(course.candidate), ()
        case Clearing(course), Wrote(lease):
            return Ended(course.candidate), note(course, lease, now)[1]
        case Leaving(course, deadline) | Clearing(course, deadline), Failed(outcome) if (
            _next_look(state, outcome, now) < deadline
        ):
            at = _next_look(state, outcome, now)
            return Leaving(course, deadline), (SendGet(at, at),)
        case Leaving(course) | Clearing(course), Failed():
            # The lease runs out by itself.
            return Ended(course.candidate), ()
        case Leaving(course) | Clearing(course), Stopped():
            # Told a second time, it wants to end at once.
            return Ended(course.candidate), (Abandon(),)
        case _:
            raise refuse(state, event)


def _next_look(state: Leaving | Clearing, outcome: Outcome, now: float) -> float:
    """At once after a conflict: another wrote, so the version in hand is old and the server is well."""
    return now if isinstance(outcome, Conflicted) else now + state.course.candidate.retry_period
