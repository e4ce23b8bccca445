"""The standby phase of the election: another candidate or nobody leads, or the lease is being acquired."""

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
        case Looking(context), Found(lease):
            return take_or_look(context, lease, now)
        case Looking(context), Failed(Refused(code=404)):
            return create_or_look(context, now)
        case Looking(context), Failed(outcome):
            return Looking(context), (look_later(context, outcome, now),)
        case Looking(context), Stopped() if context.leader == context.candidate.identity:
            # It still holds the lease after its time is up: others need not wait until the lease expires.
            return release_or_end(context, now)
        case Looking(context), Stopped():
            return Ended(context.candidate), (Abandon(),)

        case Taking(context, sent), Wrote(lease):
            return lead_or_renew(context, lease, sent, now)
        case Taking(context), Failed(outcome):
            # Most likely another candidate was faster; reading the lease shows it.
            return Looking(context), (look_later(context, outcome, now),)
        case Taking(context), Stopped():
            # The write may have arrived.
            return release_or_end(context, now)
        case _:
            raise refuse(state, event)
