"""What the election reads from a Lease, what it writes to it, and the transitions between phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError
from ..objects import settle
from ..wire import Outcome
from ._election_values import (
    Abandon,
    Action,
    Ended,
    Event,
    Leaving,
    Looking,
    NewLeader,
    ObservedLease,
    Renewing,
    SendCreate,
    SendGet,
    SendUpdate,
    StartLeading,
    State,
    Taking,
)

if TYPE_CHECKING:
    from ..kinds.coordination_v1 import Lease

# A longer wait that a server asks for is ignored: nobody would lead meanwhile.
LONGEST_WAIT: Final = 60.0

Actions: TypeAlias = tuple[Action, ...]
Step: TypeAlias = tuple[State, Actions]


def refuse(state: State, event: Event) -> LocalProtocolError:
    """Return the error for an event that cannot happen in a state."""
    return LocalProtocolError(f"the election cannot take {event} in {type(state).__name__}")


# The content of the lease


def holder(lease: Lease) -> str:
    return lease.spec.holder_identity or ""


def is_mine(context: ObservedLease, lease: Lease) -> bool:
    return holder(lease) == context.candidate.identity


def is_promised(context: ObservedLease, lease: Lease) -> bool:
    """Return whether the server wants another candidate to lead next, and the holder has to yield."""
    own = context.candidate
    return own.coordinated and lease.spec.preferred_holder not in (None, "", own.identity)


def note(context: ObservedLease, lease: Lease, now: float) -> tuple[ObservedLease, Actions]:
    """Note the lease. Only a changed record shows that the holder is alive, not labels or the version."""
    lease = settle(lease)
    leader = holder(lease)
    since = context.since if lease.spec == context.lease.spec else now
    notices = () if leader == context.leader else (NewLeader(leader),)
    return ObservedLease(context.candidate, lease, since, leader), notices


# The next state


def take_or_look(context: ObservedLease, lease: Lease, now: float) -> tuple[Taking | Looking, Actions]:
    """A candidate that does not lead has read the lease: take it, or read it again later."""
    context, notices = note(context, lease, now)
    own = context.candidate
    length = context.lease.spec.lease_duration_seconds
    runs = now < context.since + (own.lease_duration if length is None else length)
    mine = context.leader == own.identity
    if own.coordinated and (not mine or not runs or is_promised(context, lease)):
        # The server decides who takes it, and has not chosen this one, or no longer does.
        return Looking(context), (*notices, look_later(context, None, now))
    if mine:
        return Taking(context, now), (*notices, renew(context, now))
    if context.leader and runs:
        return Looking(context), (*notices, look_later(context, None, now))
    return Taking(context, now), (*notices, take(context, now))


def create_or_look(context: ObservedLease, now: float) -> tuple[Taking | Looking, Actions]:
    """The lease does not exist: create it, or read it later in a coordinated election."""
    own = context.candidate
    spec = replace(
        own.lease.spec,
        holder_identity=own.identity,
        lease_duration_seconds=own.lease_duration,
        lease_transitions=0,
        acquire_time=None,
        renew_time=None,
    )
    notices = (NewLeader(""),) if context.leader else ()
    context = ObservedLease(own, own.lease, now)
    if own.coordinated:
        return Looking(context), (*notices, look_later(context, None, now))
    return Taking(context, now), (*notices, SendCreate(replace(own.lease, spec=spec), now, now))


def lead_or_renew(
    context: ObservedLease, lease: Lease, sent: float, now: float
) -> tuple[Renewing | Taking, Actions]:
    """A write has succeeded. It counts from when it was sent; one that took too long has to be repeated."""
    context, notices = note(context, lease, now)
    own = context.candidate
    until = sent + own.renew_deadline
    if now >= until:
        return Taking(context, now), (*notices, renew(context, now))
    at = max(now, sent + own.retry_period)
    return Renewing(context, until, at), (*notices, StartLeading(until), renew(context, at))


def release_or_end(context: ObservedLease, now: float) -> tuple[Leaving | Ended, Actions]:
    """Release the lease, or keep it until it expires if the candidate wants that."""
    own = context.candidate
    if not own.release:
        return Ended(own), (Abandon(),)
    return Leaving(context, now + own.renew_deadline), (Abandon(), SendGet(now, now))


# What is written to the lease


def take(context: ObservedLease, now: float) -> SendUpdate:
    own, spec = context.candidate, context.lease.spec
    spec = replace(
        spec,
        holder_identity=own.identity,
        lease_duration_seconds=own.lease_duration,
        lease_transitions=(spec.lease_transitions or 0) + 1,
        acquire_time=None,
        renew_time=None,
    )
    return SendUpdate(replace(context.lease, spec=spec), now, now)


def renew(context: ObservedLease, at: float) -> SendUpdate:
    spec = replace(
        context.lease.spec, lease_duration_seconds=context.candidate.lease_duration, renew_time=None
    )
    return SendUpdate(replace(context.lease, spec=spec), at, at)


def clear(lease: Lease, now: float) -> SendUpdate:
    """Return a lease without a holder, for one second: this is what every version of Go's client writes."""
    spec = replace(
        lease.spec, holder_identity="", lease_duration_seconds=1, acquire_time=None, renew_time=None
    )
    return SendUpdate(replace(lease, spec=spec), now, now)


# When to read the lease again


def look_later(context: ObservedLease, outcome: Outcome | None, now: float) -> SendGet:
    wait = _wait(context, outcome)
    return SendGet(now + wait, now + wait * (1.0 + context.candidate.jitter))


def check_later(context: ObservedLease, outcome: Outcome, now: float) -> SendGet:
    at = now + _wait(context, outcome)
    return SendGet(at, at)


def _wait(context: ObservedLease, outcome: Outcome | None) -> float:
    asked = outcome.retry_after if outcome is not None else None
    return max(context.candidate.retry_period, min(asked or 0.0, LONGEST_WAIT))
