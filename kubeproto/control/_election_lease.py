"""How the election reads and writes a Lease, and the transitions between its phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import json
from msgspec.structs import replace

from .._errors import InvalidObject, LocalProtocolError
from ..objects import MicroTime, Reader, decode, is_object, kind_of, to_plain
from ..objects._shared import received_text
from ..wire import Outcome
from ._election_values import (
    Acquiring,
    Action,
    CancelRequest,
    Candidate,
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

# The largest int32, which is the type of the numbers in a Lease.
MAX_NUMBER: Final = 2**31 - 1
_TIMES: Final = ("acquireTime", "renewTime")
_read_document: Final = Reader[dict[str, Any]](dict[str, Any]).read

# A longer Retry-After is ignored: nobody would lead meanwhile.
MAX_WAIT: Final = 60.0

Actions: TypeAlias = tuple[Action, ...]
Step: TypeAlias = tuple[State, Actions]


def refuse(state: State, event: Event) -> LocalProtocolError:
    """Return the error for an event that cannot occur in a state."""
    return LocalProtocolError(f"the election in state {type(state).__name__} cannot process {event}")


# Reading a lease


def read_lease(lease: Lease) -> Lease:
    """Return the lease with all of its fields read, and without times that Python has no value for.

    A server stores times of the year 0, and times after the year 9999 where they are written with an offset.
    No decision depends on a time, so such a lease must not end the election. Raise `InvalidObject` if another
    field cannot be read.
    """
    try:
        return to_plain(lease)
    except InvalidObject:
        if (text := received_text(lease)) is None:
            raise
        document = _read_document(text)
        spec: Any = document.get("spec")
        if not is_object(spec):
            raise
        document["spec"] = {name: value for name, value in spec.items() if _is_readable(name, value)}
        return to_plain(decode(json.encode(document), kind_of(lease)))


def _is_readable(name: str, value: Any) -> bool:
    if name not in _TIMES or not isinstance(value, str):
        return True
    try:
        MicroTime.parse(value)
    except ValueError:
        return False
    return True


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
    leader, previous = holder_of(lease), context.lease
    same = lease.spec == previous.spec
    if same and leader and lease.spec.renew_time is None:
        # `read_lease` drops an invalid renewTime, so a renewal leaves the spec equal: compare the versions.
        same = lease.metadata.resource_version == previous.metadata.resource_version
    since = context.since if same else now
    reports = () if leader == context.leader else (ReportLeader(leader),)
    return ObservedLease(context.candidate, lease, since, leader), reports


# Transitions between phases


def acquire_or_observe(
    context: ObservedLease, lease: Lease, now: float
) -> tuple[Acquiring | Observing, Actions]:
    """Process a lease that was read by a candidate that does not lead."""
    context, reports = observe_lease(context, lease, now)
    candidate = context.candidate
    valid = now < context.since + _duration(candidate, context.lease)
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
        lease_transitions=min((_count_transitions(context.lease) or 0) + 1, MAX_NUMBER),
        acquire_time=None,
        renew_time=None,
    )
    return SendUpdate(replace(context.lease, spec=spec), now, now)


def renew_lease(context: ObservedLease, send_at: float) -> SendUpdate:
    duration = context.candidate.lease_duration
    spec = replace(
        context.lease.spec,
        lease_duration_seconds=duration,
        lease_transitions=_count_transitions(context.lease),
        renew_time=None,
    )
    return SendUpdate(replace(context.lease, spec=spec), send_at, send_at)


def clear_holder(lease: Lease, now: float) -> SendUpdate:
    """Return a lease without a holder for one second, as every version of client-go writes it."""
    spec = replace(
        lease.spec,
        holder_identity="",
        lease_duration_seconds=1,
        lease_transitions=_count_transitions(lease),
        acquire_time=None,
        renew_time=None,
    )
    return SendUpdate(replace(lease, spec=spec), now, now)


def _count_transitions(lease: Lease) -> int | None:
    """Return the number of transitions as a server accepts it: it refuses negative and larger numbers.

    After the largest one the number stays, because programs that use it as a fencing token rely on a number
    that never falls. client-go overflows, and nobody leads again.
    """
    transitions = lease.spec.lease_transitions
    return None if transitions is None else min(max(transitions, 0), MAX_NUMBER)


def _duration(candidate: Candidate, lease: Lease) -> int:
    """Return for how long a lease is valid without a change; the candidate's if it has no usable duration."""
    duration = lease.spec.lease_duration_seconds
    return candidate.lease_duration if duration is None or duration <= 0 else min(duration, MAX_NUMBER)


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
