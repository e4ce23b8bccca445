"""The leading phase of the election: the lease is renewed, and looked at when that fails."""

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
    Lapsed,
    Looking,
    Lose,
    Renewing,
    SendGet,
    Stopped,
    Taking,
    Wrote,
)

_LATE: Final = (Lose("the lease could not be renewed in time"),)


def step_leading(state: Renewing | Checking, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the leading phase."""
    match state, event:
        case Renewing(course, _, sent), Wrote(lease):
            return lead_or_renew(course, lease, sent, now)
        case Renewing(course, until, checked=False), Failed():
            # A conflict, most likely: another program has changed the lease. Its version is needed now.
            return Checking(course, until), (SendGet(now, now),)
        case Renewing(course, until), Failed(outcome):
            # The second write in a row that failed: without a pause the two would spin.
            return Checking(course, until), (check_later(course, outcome, now),)
        case Renewing(course, _, sent), Lapsed():
            # The write that is under way may still arrive, and brings the lease back then.
            return Taking(course, sent), _LATE

        case Checking(course, until), Found(lease) if is_mine(course, lease) and not is_promised(
            course, lease
        ):
            seen, notices = note(course, lease, now)
            return Renewing(seen, until, now, True), (*notices, renew(seen, now))
        case Checking(course), Found(lease):
            standby, actions = take_or_look(course, lease, now)
            to = lease.spec.preferred_holder if is_mine(course, lease) else holder(lease)
            return standby, (Lose(f"the lease is {to or 'nobody'}'s"), *actions)
        case Checking(course), Failed(Refused(code=404)):
            standby, actions = create_or_look(course, now)
            return standby, (Lose("the lease is gone"), *actions)
        case Checking(course, until), Failed(outcome):
            return Checking(course, until), (check_later(course, outcome, now),)
        case Checking(course), Lapsed():
            return Looking(course), _LATE

        case Renewing(course) | Checking(course), Stopped():
            after, actions = release_or_end(course, now)
            return after, (Lose("stopped"), *actions)
        case _:
            raise refuse(state, event)
