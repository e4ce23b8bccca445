"""The leaving phase of the election: the lease is read and released, until a deadline."""

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
            # Another candidate holds it: clearing it would end that leadership.
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
            # The lease expires by itself.
            return Ended(context.candidate), ()
        case Leaving(context) | Clearing(context), Stopped():
            # Stopped a second time, it has to end at once.
            return Ended(context.candidate), (Abandon(),)
        case _:
            raise refuse(state, event)


def _next_look(state: Leaving | Clearing, outcome: Outcome, now: float) -> float:
    """Read at once after a conflict: another client wrote, so only the known version is outdated."""
    return now if isinstance(outcome, Conflicted) else now + state.context.candidate.retry_period
