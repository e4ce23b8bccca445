"""Leader election on a Lease: a candidate decides by its own monotonic clock alone whether it leads.

Normally a candidate goes Idle, Looking, Taking, Renewing; then, when it stops, Leaving, Clearing, Ended.
All arrows::

    Idle ────── Started ──────► Looking
    Idle ────── Stopped ──────► Ended

    Looking ─── Found ────────► Looking, Taking
    Looking ─── Failed ───────► Looking, Taking
    Looking ─── LeaseExpired ─► Looking
    Looking ─── Stopped ──────► Leaving, Ended
    Taking ──── Wrote ────────► Renewing, Taking
    Taking ──── Failed ───────► Looking
    Taking ──── LeaseExpired ─► Taking
    Taking ──── Stopped ──────► Leaving, Ended

    Renewing ── Wrote ────────► Renewing, Taking
    Renewing ── Failed ───────► Checking, Looking
    Renewing ── LeaseExpired ─► Taking
    Renewing ── Stopped ──────► Leaving, Ended
    Checking ── Found ────────► Renewing, Looking, Taking
    Checking ── Failed ───────► Checking, Looking, Taking
    Checking ── LeaseExpired ─► Looking
    Checking ── Stopped ──────► Leaving, Ended

    Leaving ─── Found ────────► Clearing, Ended
    Leaving ─── Failed ───────► Leaving, Ended
    Leaving ─── LeaseExpired ─► Leaving
    Leaving ─── Stopped ──────► Ended
    Clearing ── Wrote ────────► Ended
    Clearing ── Failed ───────► Leaving, Ended
    Clearing ── LeaseExpired ─► Clearing
    Clearing ── Stopped ──────► Ended

The arms of a phase are in one file: those of a candidate that does not lead in `_election_standby`, of
the leader in `_election_leading`, of one that releases the lease in `_election_leaving`.

Rules

- Time stamps in a lease are for people. Each candidate measures with its own clock for how long it has seen
  the same record, and takes the lease when that is longer than the record says. Renewing changes the
  record.
- A leader acts from `StartLeading` to its `until`: the renew deadline after a time before which the last
  write that succeeded was not sent. Others saw that write later than that, and wait longer. So no two act at
  once, as long as no clock runs faster than another by lease duration / renew deadline, 1.5 by default;
  pauses, delays and lost responses do not change that. Go's client counts from the response, and adds a retry
  period.
- A driver cancels the work at `until` by itself, then steps with `LeaseExpired`. Any other event after that
  moment is handled as if `LeaseExpired` had come first.
- A leader that finds another name in the lease, or no name, or no lease, has lost it at once: another may
  act. Go's client would continue until its deadline.
- A leader writes without reading: the version that it knows shows whether anybody else has written. If that
  fails, it reads at once, and writes once more. If that fails too, it reads again after a retry period.
- A lease that names the candidate is its own, also after a restart: it is renewed, which does not count as a
  transition.
- A lease that names a holder and no duration is treated as having the candidate's own duration.
- In a coordinated election the server writes a name into the lease. A candidate then renews one with its own
  name, as long as that has not expired and no other is preferred, and takes or creates none. Go's client
  would lead until it expires when another is preferred; here that ends it.
- The lease is read before it is released: another candidate may hold it by now. Both together take no longer
  than the renew deadline.
- One request is under way at a time, and the driver reports the outcome of each, except after `Abandon`.
- The clock should also run while the machine sleeps (CLOCK_BOOTTIME, where there is a choice): a leader that
  was suspended must notice that.
"""

from __future__ import annotations

from typing import Final

from ._election_leading import step_leading
from ._election_lease import Step, refuse
from ._election_leaving import step_leaving
from ._election_standby import step_standby
from ._election_values import (
    Abandon,
    Action,
    Candidate,
    Checking,
    Clearing,
    Ended,
    Event,
    Failed,
    Found,
    Idle,
    LeadershipStatus,
    LeaseExpired,
    Leaving,
    Looking,
    NewLeader,
    ObservedLease,
    Renewing,
    SendCreate,
    SendGet,
    SendUpdate,
    Started,
    StartLeading,
    State,
    StopLeading,
    Stopped,
    Taking,
    Wrote,
)

__all__ = [
    "TOLERANCE",
    "Abandon",
    "Action",
    "Candidate",
    "Checking",
    "Clearing",
    "Ended",
    "Event",
    "Failed",
    "Found",
    "Idle",
    "LeadershipStatus",
    "LeaseExpired",
    "Leaving",
    "Looking",
    "NewLeader",
    "ObservedLease",
    "Renewing",
    "SendCreate",
    "SendGet",
    "SendUpdate",
    "StartLeading",
    "Started",
    "State",
    "StopLeading",
    "Stopped",
    "Taking",
    "Wrote",
    "begin",
    "leadership_status",
    "step",
]

# A leader is reported as unhealthy only when its driver has not noticed for this long that the lease has
# expired. Go's servers wait as long.
TOLERANCE: Final = 20.0


def begin(candidate: Candidate) -> Idle:
    """Return a machine that has made no request yet."""
    return Idle(candidate)


def leadership_status(state: State, now: float, *, tolerance: float = TOLERANCE) -> LeadershipStatus:
    """Return whether the candidate leads now, who does as far as it knows, and whether it is healthy.

    It is unhealthy if it still leads although its lease has expired: its driver hangs.
    """
    match state:
        case Renewing(context, until) | Checking(context, until):
            own = context.candidate
            ill_at = until - own.renew_deadline + own.lease_duration + tolerance
            return LeadershipStatus(now < until, context.leader, now <= ill_at)
        case Idle() | Ended():
            return LeadershipStatus(False, "", True)
        case _:
            return LeadershipStatus(False, state.context.leader, True)


def step(state: State, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event."""
    match state, event:
        case ((Renewing(until=until) | Checking(until=until)), Found() | Wrote() | Failed()) if now >= until:
            # The driver's timer has not fired yet, but the time is up: `LeaseExpired` is handled first.
            lapsed, lost = step_leading(state, LeaseExpired(), now)
            after, actions = step(lapsed, event, now)
            return after, (*lost, *actions)
        case Looking() | Taking() | Leaving() | Clearing(), LeaseExpired():
            return state, ()  # an earlier event has already ended the leadership
        case Looking() | Taking(), _:
            return step_standby(state, event, now)
        case Renewing() | Checking(), _:
            return step_leading(state, event, now)
        case Leaving() | Clearing(), _:
            return step_leaving(state, event, now)
        case Idle(candidate), Started():
            return Looking(ObservedLease(candidate, candidate.lease, now)), (SendGet(now, now),)
        case Idle(candidate), Stopped():
            return Ended(candidate), ()
        case _:
            raise refuse(state, event)
