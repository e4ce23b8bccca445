"""How the election reads and writes a Lease, and the transitions between its phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError
from ..objects import to_plain
from ..wire import Outcome
from ._election_values import (
    Acquiring,
    Action,
    CancelRequest,
    Ended,
    Event,
    Leaving,
    ObservedLease,
    Observing,
    Renewing,
    ReportLeader,
    SendCreate,
    SendGet,
    SendUpdate,
    StartLeading,
    State,
)

if TYPE_CHECKING:
    from ..kinds.coordination_v1 import Lease

# A longer Retry-After is ignored: nobody would lead meanwhile.
MAX_WAIT: Final = 60.0

Actions: TypeAlias = tuple[Action, ...]
Step: TypeAlias = tuple[State, Actions]


def refuse(state: State, event: Event) -> LocalProtocolError:
    """Return the error for an event that cannot occur in a state."""
    return LocalProtocolError(f"the election in state {type(state).__name__} cannot process {event}")


# Reading a lease


def holder_of(lease: Lease) -> str:
    return lease.spec.holder_identity or ""


def names_candidate(context: ObservedLease, lease: Lease) -> bool:
    return holder_of(lease) == context.candidate.identity


def prefers_other(context: ObservedLease, lease: Lease) -> bool:
    """Return whether the server wants another candidate to lead next, so that the holder must yield."""
    candidate = context.candidate
    return candidate.coordinated and lease.spec.preferred_holder not in (None, "", candidate.identity)


def observe_lease(context: ObservedLease, lease: Lease, now: float) -> tuple[ObservedLease, Actions]:
    """Return the context after reading a lease. Only a changed spec shows that the holder is alive."""
    lease = to_plain(lease)
    leader = holder_of(lease)
    since = context.since if lease.spec == context.lease.spec else now
    reports = () if leader == context.leader else (ReportLeader(leader),)
    return ObservedLease(context.candidate, lease, since, leader), reports


# Transitions between phases


def acquire_or_observe(
    context: ObservedLease, lease: Lease, now: float
) -> tuple[Acquiring | Observing, Actions]:
    """Process a lease that was read by a candidate that does not lead."""
    context, reports = observe_lease(context, lease, now)
    candidate = context.candidate
    duration = context.lease.spec.lease_duration_seconds
    valid = now < context.since + (candidate.lease_duration if duration is None else duration)
    is_holder = context.leader == candidate.identity
    if candidate.coordinated and (not is_holder or not valid or prefers_other(context, lease)):
        # The server chooses the leader, and has not chosen this candidate, or no longer does.
        return Observing(context), (*reports, observe_later(context, None, now))
    if is_holder:
        return Acquiring(context, now), (*reports, renew_lease(context, now))
    if context.leader and valid:
        return Observing(context), (*reports, observe_later(context, None, now))
    return Acquiring(context, now), (*reports, acquire_lease(context, now))


def create_or_observe(context: ObservedLease, now: float) -> tuple[Acquiring | Observing, Actions]:
    """Create the missing lease; in a coordinated election, wait until the server creates it."""
    candidate = context.candidate
    spec = replace(
        candidate.lease.spec,
        holder_identity=candidate.identity,
        lease_duration_seconds=candidate.lease_duration,
        lease_transitions=0,
        acquire_time=None,
        renew_time=None,
    )
    reports = (ReportLeader(""),) if context.leader else ()
    context = ObservedLease(candidate, candidate.lease, now)
    if candidate.coordinated:
        return Observing(context), (*reports, observe_later(context, None, now))
    return Acquiring(context, now), (*reports, SendCreate(replace(candidate.lease, spec=spec), now, now))


def lead_or_renew(
    context: ObservedLease, lease: Lease, sent_after: float, now: float
) -> tuple[Renewing | Acquiring, Actions]:
    """Process a successful write. It counts from when it was sent; a write that took too long is repeated."""
    context, reports = observe_lease(context, lease, now)
    candidate = context.candidate
    until = sent_after + candidate.renew_deadline
    if now >= until:
        return Acquiring(context, now), (*reports, renew_lease(context, now))
    renew_at = max(now, sent_after + candidate.retry_period)
    return Renewing(context, until, renew_at), (
        *reports,
        StartLeading(until),
        renew_lease(context, renew_at),
    )


def release_or_end(context: ObservedLease, now: float) -> tuple[Leaving | Ended, Actions]:
    """Release the lease, or let it expire if the candidate is configured so."""
    candidate = context.candidate
    if not candidate.release:
        return Ended(candidate), (CancelRequest(),)
    return Leaving(context, now + candidate.renew_deadline), (CancelRequest(), SendGet(now, now))


# Writing a lease


def acquire_lease(context: ObservedLease, now: float) -> SendUpdate:
    candidate, spec = context.candidate, context.lease.spec
    spec = replace(
        spec,
        holder_identity=candidate.identity,
        lease_duration_seconds=candidate.lease_duration,
        lease_transitions=(spec.lease_transitions or 0) + 1,
        acquire_time=None,
        renew_time=None,
    )
    return SendUpdate(replace(context.lease, spec=spec), now, now)


def renew_lease(context: ObservedLease, send_at: float) -> SendUpdate:
    duration = context.candidate.lease_duration
    spec = replace(context.lease.spec, lease_duration_seconds=duration, renew_time=None)
    return SendUpdate(replace(context.lease, spec=spec), send_at, send_at)


def clear_holder(lease: Lease, now: float) -> SendUpdate:
    """Return a lease without a holder for one second, as every version of client-go writes it."""
    spec = replace(
        lease.spec, holder_identity="", lease_duration_seconds=1, acquire_time=None, renew_time=None
    )
    return SendUpdate(replace(lease, spec=spec), now, now)


# When the lease is read again


def observe_later(context: ObservedLease, outcome: Outcome | None, now: float) -> SendGet:
    wait = _wait(context, outcome)
    return SendGet(now + wait, now + wait * (1.0 + context.candidate.jitter))


def check_later(context: ObservedLease, outcome: Outcome, now: float) -> SendGet:
    send_at = now + _wait(context, outcome)
    return SendGet(send_at, send_at)


def _wait(context: ObservedLease, outcome: Outcome | None) -> float:
    retry_after = outcome.retry_after if outcome is not None else None
    return max(context.candidate.retry_period, min(retry_after or 0.0, MAX_WAIT))
