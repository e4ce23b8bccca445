"""Leader election on a Lease: who leads is judged by the own monotonic clock, and by nothing else.

::

                     404, or free, or run out: write it
         Started            ┌────────────► Taking ── Wrote ──┐
    Idle ──────► Looking ───┤                │ │             ▼
                  ▲ ▲  ▲    └─ not yet ─┐    │ │         Renewing ◄──┐ Wrote
                  │ │  └────────────────┘    │ │          │  │ ▲ └───┘
                  │ └──────── Failed ────────┘ │   Failed │  │ │ Found: still mine
                  │           Stopped ─────────┤          ▼  │ │
                  ├──── Lapsed, another's ─────┼─────── Checking
                  │                            │             │ Stopped
                  │ Stopped                    ▼   mine      ▼
                  └────────► Ended ◄──────── Leaving ◄───► Clearing ── Wrote ──► Ended

    Lapsed: Renewing goes to Taking (what is under way may still arrive), Checking to Looking.

House rules

- Time stamps in a lease are for people. Each candidate measures with its own clock for how long it has seen
  the same record, and takes the lease when that is longer than the record says. Whoever renews changes the
  record.
- Who leads acts from `Lead` to its `until`: the renew deadline after a time before which the last write that
  worked was not sent. Others saw that write later than that, and wait longer. So no two act at once, as long
  as no clock runs faster than another by lease duration / renew deadline, 1.5 by default; pauses, delays and
  lost answers take nothing from it. Go's client counts from the answer, and adds a retry period.
- A driver cuts the work off at `until` by itself, then tells `Lapsed`. Any other event after that moment
  means the same: it is looked at as in the state after `Lapsed`.
- Who finds another's name in the lease, or none, or no lease, has lost it at that moment: somebody else may
  act. Go's client would go on until its deadline.
- A leader writes without looking: the version in its hand tells whether anybody else has written. If that
  fails, it looks at once, and writes once more. If that fails too, it looks again after a retry period.
- A lease with the own name in it is the own one, also after a restart: it is renewed, and counts no
  transition.
- A lease that names a holder and no duration is given the own duration.
- In a coordinated election the server writes a name into the lease. A candidate then renews one that has its
  own, as long as that has not run out and nobody else is preferred, and takes or makes none. Go's client
  would lead on to the end of its term when another is preferred; here that ends it.
- Giving the lease back looks first: it may be another's by now. It takes no longer than the renew deadline.
- One request is under way at a time, and each answer is told but after `Abandon`.
- The clock should go on while the machine sleeps (CLOCK_BOOTTIME, where there is a choice): a leader that was
  suspended has to know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from .._errors import LocalProtocolError
from ..objects import settle
from ..wire import Conflicted, Outcome, Refused
from ._election_values import (
    Abandon,
    Action,
    Candidate,
    Checking,
    Clearing,
    Course,
    Ended,
    Event,
    Failed,
    Found,
    Idle,
    Lapsed,
    Lead,
    Leaving,
    Looking,
    Lose,
    Notice,
    Renewing,
    SendCreate,
    SendGet,
    SendUpdate,
    Standing,
    Started,
    State,
    Stopped,
    Taking,
    Wrote,
)

if TYPE_CHECKING:
    from ..kinds.coordination_v1 import Lease

__all__ = [
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
    "Lapsed",
    "Lead",
    "Leaving",
    "Looking",
    "Lose",
    "Notice",
    "Renewing",
    "SendCreate",
    "SendGet",
    "SendUpdate",
    "Standing",
    "Started",
    "State",
    "Stopped",
    "Taking",
    "Wrote",
    "begin",
    "standing",
    "step",
]

# For so long after its lease has run out, a leader that was not told so is not yet called ill. Go's servers
# wait as long.
TOLERANCE: Final = 20.0

# A server that asks for a longer wait is not obeyed: nobody would lead meanwhile.
LONGEST_WISH: Final = 60.0

Step = tuple[State, tuple[Action, ...]]


def begin(candidate: Candidate) -> Idle:
    """A machine that has asked for nothing yet."""
    return Idle(candidate)


def standing(state: State, now: float, *, tolerance: float = TOLERANCE) -> Standing:
    """Whether the candidate leads at this moment, who does as far as it knows, and whether all is well.

    It is ill if it still thinks that it leads although its lease has run out: its driver hangs.
    """
    match state:
        case Renewing(course, until) | Checking(course, until):
            own = course.candidate
            ill_at = until - own.renew_deadline + own.lease_duration + tolerance
            return Standing(now < until, course.leader, now <= ill_at)
        case Idle() | Ended():
            return Standing(False, "", True)
        case _:
            return Standing(False, state.course.leader, True)


def step(state: State, event: Event, now: float) -> Step:
    """What an event means in a state: the next state, and what to do."""
    match state, event:
        case ((Renewing(until=until) | Checking(until=until)), Found() | Wrote() | Failed()) if now >= until:
            standby, lost = _lapse(state)
            after, actions = step(standby, event, now)
            return after, (*lost, *actions)
        case Renewing() | Checking(), Lapsed():
            return _lapse(state)
        case Looking() | Taking() | Leaving() | Clearing(), Lapsed():
            return state, ()  # an event that came before it has said so

        case Idle(candidate), Started():
            return Looking(Course(candidate, candidate.lease, now)), (SendGet(now, now),)
        case Looking(course), Found(lease):
            return _consider(course, lease, now)
        case Looking(course), Failed(Refused(code=404)):
            return _create(course, now)
        case Looking(course), Failed(outcome):
            return Looking(course), (_look_later(course, outcome, now),)
        case Taking(course, sent), Wrote(lease):
            return _lead(course, lease, sent, now)
        case Taking(course), Failed(outcome):
            return Looking(course), (_look_later(course, outcome, now),)

        case Renewing(course, _, sent), Wrote(lease):
            return _lead(course, lease, sent, now)
        case Renewing(course, until, checked=False), Failed():
            return Checking(course, until), (SendGet(now, now),)
        case Renewing(course, until), Failed(outcome):
            return Checking(course, until), (_check_later(course, outcome, now),)
        case Checking(course, until), Found(lease) if _is_mine(course, lease) and not _is_promised(
            course, lease
        ):
            seen, notices = _see(course, lease, now)
            return Renewing(seen, until, now, True), (*notices, _renew(seen, now))
        case Checking(course), Found(lease):
            standby, actions = _consider(course, lease, now)
            to = lease.spec.preferred_holder if _is_mine(course, lease) else _holder(lease)
            return standby, (Lose(f"the lease is {to or 'nobody'}'s"), *actions)
        case Checking(course), Failed(Refused(code=404)):
            standby, actions = _create(course, now)
            return standby, (Lose("the lease is gone"), *actions)
        case Checking(course, until), Failed(outcome):
            return Checking(course, until), (_check_later(course, outcome, now),)

        case Idle(candidate), Stopped():
            return Ended(candidate), ()
        case Looking(course), Stopped() if course.leader == course.candidate.identity:
            return _leave(course, now)
        case Looking(course), Stopped():
            return Ended(course.candidate), (Abandon(),)
        case Taking(course), Stopped():
            return _leave(course, now)
        case Renewing(course) | Checking(course), Stopped():
            standby, actions = _leave(course, now)
            return standby, (Lose("stopped"), *actions)
        case Leaving(course) | Clearing(course), Stopped():
            return Ended(course.candidate), (Abandon(),)
        case Leaving(course, deadline), Found(lease) if _is_mine(course, lease):
            return Clearing(course, deadline), (_clear(lease, now),)
        case Leaving(course), Found(lease):
            return Ended(course.candidate), _see(course, lease, now)[1]
        case Leaving(course), Failed(Refused(code=404)):
            return Ended(course.candidate), ()
        case Clearing(course), Wrote(lease):
            return Ended(course.candidate), _see(course, lease, now)[1]
        case ((Leaving(course, deadline) | Clearing(course, deadline)), Failed(outcome)):
            at = now if isinstance(outcome, Conflicted) else now + course.candidate.retry_period
            if at >= deadline:
                return Ended(course.candidate), ()
            return Leaving(course, deadline), (SendGet(at, at),)
        case _:
            raise LocalProtocolError(f"the election cannot take {event} in {type(state).__name__}")


# What the lease says


def _holder(lease: Lease) -> str:
    return lease.spec.holder_identity or ""


def _is_mine(course: Course, lease: Lease) -> bool:
    return _holder(lease) == course.candidate.identity


def _is_promised(course: Course, lease: Lease) -> bool:
    """Whether the server wants another to have it next, and who has it to make way."""
    own = course.candidate
    return own.coordinated and lease.spec.preferred_holder not in (None, "", own.identity)


def _see(course: Course, lease: Lease, now: float) -> tuple[Course, tuple[Action, ...]]:
    """Note the lease. Only a record that has changed is a sign of life; labels and the version are none."""
    lease = settle(lease)
    leader = _holder(lease)
    since = course.since if lease.spec == course.lease.spec else now
    notices = () if leader == course.leader else (Notice(leader),)
    return Course(course.candidate, lease, since, leader), notices


def _consider(course: Course, lease: Lease, now: float) -> Step:
    """A lease was found by one who does not lead: take it, or look again later."""
    course, notices = _see(course, lease, now)
    own = course.candidate
    length = course.lease.spec.lease_duration_seconds
    runs = now < course.since + (own.lease_duration if length is None else length)
    mine = course.leader == own.identity
    if own.coordinated and (not mine or not runs or _is_promised(course, lease)):
        return Looking(course), (*notices, _look_later(course, None, now))
    if mine:
        return Taking(course, now), (*notices, _renew(course, now))
    if course.leader and runs:
        return Looking(course), (*notices, _look_later(course, None, now))
    return Taking(course, now), (*notices, _take(course, now))


# What is written


def _lead(course: Course, lease: Lease, sent: float, now: float) -> Step:
    """A write has worked. It counts from when it was sent, so one that took too long has to be done again."""
    course, notices = _see(course, lease, now)
    own = course.candidate
    until = sent + own.renew_deadline
    if now >= until:
        return Taking(course, now), (*notices, _renew(course, now))
    at = max(now, sent + own.retry_period)
    return Renewing(course, until, at), (*notices, Lead(until), _renew(course, at))


def _create(course: Course, now: float) -> Step:
    own = course.candidate
    spec = replace(
        own.lease.spec,
        holder_identity=own.identity,
        lease_duration_seconds=own.lease_duration,
        lease_transitions=0,
        acquire_time=None,
        renew_time=None,
    )
    notices = (Notice(""),) if course.leader else ()
    course = Course(own, own.lease, now)
    if own.coordinated:
        return Looking(course), (*notices, _look_later(course, None, now))
    return Taking(course, now), (*notices, SendCreate(replace(own.lease, spec=spec), now, now))


def _take(course: Course, now: float) -> SendUpdate:
    own, spec = course.candidate, course.lease.spec
    spec = replace(
        spec,
        holder_identity=own.identity,
        lease_duration_seconds=own.lease_duration,
        lease_transitions=(spec.lease_transitions or 0) + 1,
        acquire_time=None,
        renew_time=None,
    )
    return SendUpdate(replace(course.lease, spec=spec), now, now)


def _renew(course: Course, at: float) -> SendUpdate:
    spec = replace(course.lease.spec, lease_duration_seconds=course.candidate.lease_duration, renew_time=None)
    return SendUpdate(replace(course.lease, spec=spec), at, at)


def _clear(lease: Lease, now: float) -> SendUpdate:
    """Nobody's, for a second: this is what Go's client writes, and what all its versions take at once."""
    spec = replace(
        lease.spec, holder_identity="", lease_duration_seconds=1, acquire_time=None, renew_time=None
    )
    return SendUpdate(replace(lease, spec=spec), now, now)


# When


def _look_later(course: Course, outcome: Outcome | None, now: float) -> SendGet:
    wait = _wait(course, outcome)
    return SendGet(now + wait, now + wait * (1.0 + course.candidate.jitter))


def _check_later(course: Course, outcome: Outcome, now: float) -> SendGet:
    at = now + _wait(course, outcome)
    return SendGet(at, at)


def _wait(course: Course, outcome: Outcome | None) -> float:
    asked = outcome.retry_after if outcome is not None else None
    return max(course.candidate.retry_period, min(asked or 0.0, LONGEST_WISH))


# The end of a term


def _lapse(state: Renewing | Checking) -> Step:
    """The time is up. What is under way goes on: it may bring the lease back."""
    lost = (Lose("the lease could not be renewed in time"),)
    match state:
        case Renewing(course, _, sent):
            return Taking(course, sent), lost
        case Checking(course):
            return Looking(course), lost


def _leave(course: Course, now: float) -> Step:
    own = course.candidate
    if not own.release:
        return Ended(own), (Abandon(),)
    return Leaving(course, now + own.renew_deadline), (Abandon(), SendGet(now, now))
