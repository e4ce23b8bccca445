"""The standby phase of the election: another leads, or nobody does, or the lease is being taken."""

from __future__ import annotations

from ..wire import Refused
from ._election_lease import (
    Step,
    create_or_look,
    lead_or_renew,
    look_later,
    refuse,
    release_or_end,
    take_or_look,
)
from ._election_values import Abandon, Ended, Event, Failed, Found, Looking, Stopped, Taking, Wrote


def step_standby(state: Looking | Taking, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the standby phase."""
    match state, event:
        case Looking(course), Found(lease):
            return take_or_look(course, lease, now)
        case Looking(course), Failed(Refused(code=404)):
            return create_or_look(course, now)
        case Looking(course), Failed(outcome):
            return Looking(course), (look_later(course, outcome, now),)
        case Looking(course), Stopped() if course.leader == course.candidate.identity:
            # It still has the lease of a term that ended by time: others need not wait for that to run out.
            return release_or_end(course, now)
        case Looking(course), Stopped():
            return Ended(course.candidate), (Abandon(),)

        case Taking(course, sent), Wrote(lease):
            return lead_or_renew(course, lease, sent, now)
        case Taking(course), Failed(outcome):
            # Most likely another was faster; the lease tells.
            return Looking(course), (look_later(course, outcome, now),)
        case Taking(course), Stopped():
            # The write may have arrived.
            return release_or_end(course, now)
        case _:
            raise refuse(state, event)
