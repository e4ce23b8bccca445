"""The leading phase of the election: the lease is renewed, and read when that fails."""

from __future__ import annotations

from typing import Final

from ..wire import Refused
from ._election_lease import (
    Step,
    check_later,
    create_or_look,
    holder,
    is_mine,
    is_promised,
    lead_or_renew,
    note,
    refuse,
    release_or_end,
    renew,
    take_or_look,
)
from ._election_values import (
    Checking,
    Event,
    Failed,
    Found,
    LeaseExpired,
    Looking,
    Renewing,
    SendGet,
    StopLeading,
    Stopped,
    Taking,
    Wrote,
)

_LATE: Final = (StopLeading("the lease could not be renewed in time"),)


def step_leading(state: Renewing | Checking, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the leading phase."""
    match state, event:
        case Renewing(context, _, sent), Wrote(lease):
            return lead_or_renew(context, lease, sent, now)
        case Renewing(context, until, checked=False), Failed():
            # A conflict, most likely: another program has changed the lease. Its version is needed now.
            return Checking(context, until), (SendGet(now, now),)
        case Renewing(context, until), Failed(outcome):
            # The second write in a row that failed: without a pause, reading and writing would spin.
            return Checking(context, until), (check_later(context, outcome, now),)
        case Renewing(context, _, sent), LeaseExpired():
            # The write under way may still arrive, which would renew the lease.
            return Taking(context, sent), _LATE

        case Checking(context, until), Found(lease) if is_mine(context, lease) and not is_promised(
            context, lease
        ):
            seen, notices = note(context, lease, now)
            return Renewing(seen, until, now, True), (*notices, renew(seen, now))
        case Checking(context), Found(lease):
            standby, actions = take_or_look(context, lease, now)
            to = lease.spec.preferred_holder if is_mine(context, lease) else holder(lease)
            return standby, (StopLeading(f"the lease belongs to {to or 'nobody'}"), *actions)
        case Checking(context), Failed(Refused(code=404)):
            standby, actions = create_or_look(context, now)
            return standby, (StopLeading("the lease does not exist any more"), *actions)
        case Checking(context, until), Failed(outcome):
            return Checking(context, until), (check_later(context, outcome, now),)
        case Checking(context), LeaseExpired():
            return Looking(context), _LATE

        case Renewing(context) | Checking(context), Stopped():
            after, actions = release_or_end(context, now)
            return after, (StopLeading("stopped"), *actions)
        case _:
            raise refuse(state, event)
