"""The arms of the election machine, a function for each phase: standby, leading and leaving."""

from __future__ import annotations

from typing import Final

from ..wire import Conflicted, Outcome, Refused
from ._election_lease import (
    Step,
    acquire_or_observe,
    check_later,
    clear_holder,
    create_or_observe,
    holder_of,
    lead_or_renew,
    names_candidate,
    observe_later,
    observe_lease,
    prefers_other,
    refuse,
    release_or_end,
    renew_lease,
)
from ._election_values import (
    Acquiring,
    CancelRequest,
    Checking,
    Ended,
    Event,
    Failed,
    LeaseExpired,
    LeaseRead,
    LeaseWritten,
    Leaving,
    Observing,
    Releasing,
    Renewing,
    SendGet,
    StopLeading,
    Stopped,
)

_EXPIRED: Final = (StopLeading("the lease could not be renewed in time"),)


def step_standby(state: Observing | Acquiring, event: Event, now: float) -> Step:
    """Return the next state and the actions while the candidate does not lead."""
    match state, event:
        case Observing(context), LeaseRead(lease):
            return acquire_or_observe(context, lease, now)
        case Observing(context), Failed(Refused(code=404)):
            return create_or_observe(context, now)
        case Observing(context), Failed(outcome):
            return Observing(context), (observe_later(context, outcome, now),)
        case Observing(context), Stopped() if context.leader == context.candidate.identity:
            # The lease still names the candidate after its term: others need not wait until the lease
            # expires.
            return release_or_end(context, now)
        case Observing(context), Stopped():
            return Ended(context.candidate), (CancelRequest(),)

        case Acquiring(context, sent_after), LeaseWritten(lease):
            return lead_or_renew(context, lease, sent_after, now)
        case Acquiring(context), Failed(outcome):
            # Most likely another candidate was faster; reading the lease shows it.
            return Observing(context), (observe_later(context, outcome, now),)
        case Acquiring(context), Stopped():
            # The write may have arrived.
            return release_or_end(context, now)
        case _:
            raise refuse(state, event)


def step_leading(state: Renewing | Checking, event: Event, now: float) -> Step:
    """Return the next state and the actions while the candidate leads."""
    match state, event:
        case Renewing(context, _, sent_after), LeaseWritten(lease):
            return lead_or_renew(context, lease, sent_after, now)
        case Renewing(context, until, checked=False), Failed():
            # Most likely a conflict: another program has changed the lease, and its version is needed now.
            return Checking(context, until), (SendGet(now, now),)
        case Renewing(context, until), Failed(outcome):
            # The second consecutive failure of a write: without a pause, reading and writing would spin.
            return Checking(context, until), (check_later(context, outcome, now),)
        case Renewing(context, _, sent_after), LeaseExpired():
            # The write under way may still arrive, which would renew the lease.
            return Acquiring(context, sent_after), _EXPIRED

        case Checking(context, until), LeaseRead(lease) if names_candidate(
            context, lease
        ) and not prefers_other(context, lease):
            observed, reports = observe_lease(context, lease, now)
            return Renewing(observed, until, now, True), (*reports, renew_lease(observed, now))
        case Checking(context), LeaseRead(lease):
            standby, actions = acquire_or_observe(context, lease, now)
            lost_to = lease.spec.preferred_holder if names_candidate(context, lease) else holder_of(lease)
            return standby, (StopLeading(f"the lease belongs to {lost_to or 'nobody'}"), *actions)
        case Checking(context), Failed(Refused(code=404)):
            standby, actions = create_or_observe(context, now)
            return standby, (StopLeading("the lease was deleted"), *actions)
        case Checking(context, until), Failed(outcome):
            return Checking(context, until), (check_later(context, outcome, now),)
        case Checking(context), LeaseExpired():
            return Observing(context), _EXPIRED

        case Renewing(context) | Checking(context), Stopped():
            stopped, actions = release_or_end(context, now)
            return stopped, (StopLeading("stopped"), *actions)
        case _:
            raise refuse(state, event)


def step_leaving(state: Leaving | Releasing, event: Event, now: float) -> Step:
    """Return the next state and the actions while the lease is read and released, until a deadline."""
    match state, event:
        case Leaving(context, deadline), LeaseRead(lease) if names_candidate(context, lease):
            return Releasing(context, deadline), (clear_holder(lease, now),)
        case Leaving(context), LeaseRead(lease):
            # Another candidate leads: clearing the lease would end that leadership.
            return Ended(context.candidate), observe_lease(context, lease, now)[1]
        case Leaving(context), Failed(Refused(code=404)):
            return Ended(context.candidate), ()
        case Releasing(context), LeaseWritten(lease):
            return Ended(context.candidate), observe_lease(context, lease, now)[1]
        case Leaving(context, deadline) | Releasing(context, deadline), Failed(outcome) if (
            _next_read(state, outcome, now) < deadline
        ):
            next_read = _next_read(state, outcome, now)
            return Leaving(context, deadline), (SendGet(next_read, next_read),)
        case Leaving(context) | Releasing(context), Failed():
            # The lease expires by itself.
            return Ended(context.candidate), ()
        case Leaving(context) | Releasing(context), Stopped():
            # A second stop ends immediately.
            return Ended(context.candidate), (CancelRequest(),)
        case _:
            raise refuse(state, event)


def _next_read(state: Leaving | Releasing, outcome: Outcome, now: float) -> float:
    """Read immediately after a conflict: another client wrote, so only the version is outdated."""
    return now if isinstance(outcome, Conflicted) else now + state.context.candidate.retry_period
