"""Leader election on a Lease: a candidate decides by its own monotonic clock alone whether it leads.

Normally a candidate goes Idle, Observing, Acquiring, Renewing; then, when it stops, Leaving, Releasing,
Ended. All arrows::

    Idle ────── Started ──────► Observing
    Idle ────── Stopped ──────► Ended

    Observing ─ LeaseRead ────► Observing, Acquiring
    Observing ─ Failed ───────► Observing, Acquiring
    Observing ─ LeaseExpired ─► Observing
    Observing ─ Stopped ──────► Leaving, Ended
    Acquiring ─ LeaseWritten ─► Renewing, Acquiring
    Acquiring ─ Failed ───────► Observing
    Acquiring ─ LeaseExpired ─► Acquiring
    Acquiring ─ Stopped ──────► Leaving, Ended

    Renewing ── LeaseWritten ─► Renewing, Acquiring
    Renewing ── Failed ───────► Checking, Observing
    Renewing ── LeaseExpired ─► Acquiring
    Renewing ── Stopped ──────► Leaving, Ended
    Checking ── LeaseRead ────► Renewing, Observing, Acquiring
    Checking ── Failed ───────► Checking, Observing, Acquiring
    Checking ── LeaseExpired ─► Observing
    Checking ── Stopped ──────► Leaving, Ended

    Leaving ─── LeaseRead ────► Releasing, Ended
    Leaving ─── Failed ───────► Leaving, Ended
    Leaving ─── LeaseExpired ─► Leaving
    Leaving ─── Stopped ──────► Ended
    Releasing ─ LeaseWritten ─► Ended
    Releasing ─ Failed ───────► Leaving, Ended
    Releasing ─ LeaseExpired ─► Releasing
    Releasing ─ Stopped ──────► Ended

The arms are in `_election_phases`: a candidate that does not lead, the leader, and a former leader that
releases the lease.

Rules

- Time stamps in a lease are for people. Each candidate measures with its own clock for how long it has seen
  the same spec, and acquires the lease when that is longer than the duration in the spec. Renewing changes
  the spec.
- A leader acts from `StartLeading` to its `until`: the renew deadline after a time before which the last
  successful write was not sent. Others observed that write later, and wait longer. So no two lead at the same
  time, as long as no clock runs faster than another by lease duration / renew deadline, 1.5 by default.
  Pauses, delays and lost responses do not change that. client-go counts from the response, and adds a retry
  period.
- A driver cancels the work at `until` by itself, then steps with `LeaseExpired`. Any other event after that
  moment is processed as if `LeaseExpired` had come first.
- A leader that reads another name in the lease, or no name, or no lease, has lost it: another candidate may
  act. client-go would continue until its deadline.
- A leader writes without reading: its known version detects other writers. If the write fails, it reads
  immediately, and writes once more. If that fails too, it reads again after a retry period.
- A lease that names the candidate is its own, also after a restart: it is renewed, which does not count as a
  transition.
- A lease with a holder and without a positive duration is treated as having the candidate's duration. A long
  duration is respected, however long: its holder may be alive.
- Times that Python has no value for are left out of a lease, and numbers that a server refuses are corrected
  when the lease is written. A lease that cannot be read for another reason is a failed request.
- In a coordinated election the server writes a name into the lease. A candidate then renews a lease with its
  own name, as long as that has not expired and no other candidate is preferred; it acquires and creates none.
  client-go would lead until the lease expires when another candidate is preferred; here that ends the term.
- Releasing reads the lease first, and clears it only if it still names the candidate: another candidate may
  have acquired it. Both requests together take no longer than the renew deadline.
- One request is under way at a time, and the driver reports the outcome of each, except after
  `CancelRequest`.
- The clock should include suspension of the machine (CLOCK_BOOTTIME, where there is a choice): a leader that
  was suspended must notice that.
"""

from __future__ import annotations

from typing import Final

from .._errors import InvalidObject
from ..wire import Garbled
from ._election_lease import Step, read_lease, refuse
from ._election_phases import step_leading, step_leaving, step_standby
from ._election_values import (
    Acquiring,
    Action,
    CancelRequest,
    Candidate,
    Checking,
    Ended,
    Event,
    Failed,
    Idle,
    LeadershipStatus,
    LeaseExpired,
    LeaseRead,
    LeaseWritten,
    Leaving,
    ObservedLease,
    Observing,
    Releasing,
    Renewing,
    ReportLeader,
    SendCreate,
    SendGet,
    SendUpdate,
    Started,
    StartLeading,
    State,
    StopLeading,
    Stopped,
)

__all__ = [
    "TOLERANCE",
    "Acquiring",
    "Action",
    "CancelRequest",
    "Candidate",
    "Checking",
    "Ended",
    "Event",
    "Failed",
    "Idle",
    "LeadershipStatus",
    "LeaseExpired",
    "LeaseRead",
    "LeaseWritten",
    "Leaving",
    "ObservedLease",
    "Observing",
    "Releasing",
    "Renewing",
    "ReportLeader",
    "SendCreate",
    "SendGet",
    "SendUpdate",
    "StartLeading",
    "Started",
    "State",
    "StopLeading",
    "Stopped",
    "begin",
    "leadership_status",
    "step",
]

# Seconds. A leader is unhealthy when its driver has not stopped it for this long after its lease has expired.
# The health check of client-go has the same tolerance.
TOLERANCE: Final = 20.0


def begin(candidate: Candidate) -> Idle:
    """Return the first state, before any request."""
    return Idle(candidate)


def leadership_status(state: State, now: float, *, tolerance: float = TOLERANCE) -> LeadershipStatus:
    """Return whether the candidate leads now, the leader that it knows, and whether it is healthy.

    It is unhealthy if it still leads although its lease has expired: its driver hangs.
    """
    match state:
        case Renewing(context, until) | Checking(context, until):
            candidate = context.candidate
            unhealthy_at = until - candidate.renew_deadline + candidate.lease_duration + tolerance
            return LeadershipStatus(now < until, context.leader, now <= unhealthy_at)
        case Idle() | Ended():
            return LeadershipStatus(False, "", True)
        case _:
            return LeadershipStatus(False, state.context.leader, True)


def step(state: State, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event."""
    if isinstance(event, LeaseRead | LeaseWritten):
        try:
            event = type(event)(read_lease(event.lease))
        except InvalidObject as error:
            event = Failed(Garbled(str(error)))
    match state, event:
        case (
            (Renewing(until=until) | Checking(until=until)),
            LeaseRead() | LeaseWritten() | Failed(),
        ) if now >= until:
            # The driver's timer has not fired yet, but the term is over: `LeaseExpired` is processed first.
            expired, expiry_actions = step_leading(state, LeaseExpired(), now)
            next_state, actions = step(expired, event, now)
            return next_state, (*expiry_actions, *actions)
        case Observing() | Acquiring() | Leaving() | Releasing(), LeaseExpired():
            return state, ()  # an earlier event has already ended the leadership
        case Observing() | Acquiring(), _:
            return step_standby(state, event, now)
        case Renewing() | Checking(), _:
            return step_leading(state, event, now)
        case Leaving() | Releasing(), _:
            return step_leaving(state, event, now)
        case Idle(candidate), Started():
            return Observing(ObservedLease(candidate, candidate.lease, now)), (SendGet(now, now),)
        case Idle(candidate), Stopped():
            return Ended(candidate), ()
        case _:
            raise refuse(state, event)
