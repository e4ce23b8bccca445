"""The leaving phase of the election: the lease is looked at and given back, until a deadline."""

from __future__ import annotations

from ..wire import Conflicted, Outcome, Refused
from ._election_lease import Step, clear, is_mine, note, refuse
from ._election_values import Abandon, Clearing, Ended, Event, Failed, Found, Leaving, SendGet, Stopped, Wrote


def step_leaving(state: Leaving | Clearing, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the leaving phase."""
    match state, event:
        case Leaving(context, deadline), Found(lease) if is_mine(context, lease):
            return Clearing(context, deadline), (clear(lease, now),)
        case Leaving(context), Found(lease):
            # Another has it: clearing it would end that one's term.
            return Ended(context.candidate), note(context, lease, now)[1]
        case Leaving(context), Failed(Refused(code=404)):
            return Ended(context.candidate), ()
        case Clearing(context), Wrote(lease):
            return Ended(context.candidate), note(context, lease, now)[1]
        case Leaving(context, deadline) | Clearing(context, deadline), Failed(outcome) if (
            _next_look(state, outcome, now) < deadline
        ):
            at = _next_look(state, outcome, now)
            return Leaving(context, deadline), (SendGet(at, at),)
        case Leaving(context) | Clearing(context), Failed():
            # The lease runs out by itself.
            return Ended(context.candidate), ()
        case Leaving(context) | Clearing(context), Stopped():
            # Told a second time, it wants to end at once.
            return Ended(context.candidate), (Abandon(),)
        case _:
            raise refuse(state, event)


def _next_look(state: Leaving | Clearing, outcome: Outcome, now: float) -> float:
    """At once after a conflict: another wrote, so the version in hand is old and the server is well."""
    return now if isinstance(outcome, Conflicted) else now + state.context.candidate.retry_period
