"""What the election reads from a Lease, what it writes to it, and how the phases go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError
from ..objects import settle
from ..wire import Outcome
from ._election_values import (
    Abandon,
    Action,
    Course,
    Ended,
    Event,
    Lead,
    Leaving,
    Looking,
    Notice,
    Renewing,
    SendCreate,
    SendGet,
    SendUpdate,
    State,
    Taking,
)

if TYPE_CHECKING:
    from ..kinds.coordination_v1 import Lease

# A server that asks for a longer wait is not obeyed: nobody would lead meanwhile.
LONGEST_WISH: Final = 60.0

Actions: TypeAlias = tuple[Action, ...]
Step: TypeAlias = tuple[State, Actions]


def refuse(state: State, event: Event) -> LocalProtocolError:
    """The error for an event that cannot happen in a state."""
    return LocalProtocolError(f"the election cannot take {event} in {type(state).__name__}")


# What the lease says


def holder(lease: Lease) -> str:
    return lease.spec.holder_identity or ""


def is_mine(course: Course, lease: Lease) -> bool:
    return holder(lease) == course.candidate.identity


def is_promised(course: Course, lease: Lease) -> bool:
    """Whether the server wants another to have it next, and who has it to make way."""
    own = course.candidate
    return own.coordinated and lease.spec.preferred_holder not in (None, "", own.identity)


def note(course: Course, lease: Lease, now: float) -> tuple[Course, Actions]:
    """Note the lease. Only a record that has changed is a sign of life; labels and the version are not."""
    lease = settle(lease)
    leader = holder(lease)
    since = course.since if lease.spec == course.lease.spec else now
    notices = () if leader == course.leader else (Notice(leader),)
    return Course(course.candidate, lease, since, leader), notices


# The next state


def take_or_look(course: Course, lease: Lease, now: float) -> tuple[Taking | Looking, Actions]:
    """The lease was found by one who does not lead: take it, or look again later."""
    course, notices = note(course, lease, now)
    own = course.candidate
    length = course.lease.spec.lease_duration_seconds
    runs = now < course.since + (own.lease_duration if length is None else length)
    mine = course.leader == own.identity
    if own.coordinated and (not mine or not runs or is_promised(course, lease)):
        # The server decides who takes it, and has not chosen this one, or not any more.
        return Looking(course), (*notices, look_later(course, None, now))
    if mine:
        return Taking(course, now), (*notices, renew(course, now))
    if course.leader and runs:
        return Looking(course), (*notices, look_later(course, None, now))
    return Taking(course, now), (*notices, take(course, now))


def create_or_look(course: Course, now: float) -> tuple[Taking | Looking, Actions]:
    """There is no lease: make one, unless the server does; in a coordinated election look for it later."""
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
        return Looking(course), (*notices, look_later(course, None, now))
    return Taking(course, now), (*notices, SendCreate(replace(own.lease, spec=spec), now, now))


def lead_or_renew(course: Course, lease: Lease, sent: float, now: float) -> tuple[Renewing | Taking, Actions]:
    """A write has worked. It counts from when it was sent, so one that took too long has to be done again."""
    course, notices = note(course, lease, now)
    own = course.candidate
    until = sent + own.renew_deadline
    if now >= until:
        return Taking(course, now), (*notices, renew(course, now))
    at = max(now, sent + own.retry_period)
    return Renewing(course, until, at), (*notices, Lead(until), renew(course, at))


def release_or_end(course: Course, now: float) -> tuple[Leaving | Ended, Actions]:
    """Give the lease back, or keep it until it runs out if the candidate wants that."""
    own = course.candidate
    if not own.release:
        return Ended(own), (Abandon(),)
    return Leaving(course, now + own.renew_deadline), (Abandon(), SendGet(now, now))


# What is written


def take(course: Course, now: float) -> SendUpdate:
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


def renew(course: Course, at: float) -> SendUpdate:
    spec = replace(course.lease.spec, lease_duration_seconds=course.candidate.lease_duration, renew_time=None)
    return SendUpdate(replace(course.lease, spec=spec), at, at)


def clear(lease: Lease, now: float) -> SendUpdate:
    """Nobody's, for a second: this is what Go's client writes, and what all its versions take at once."""
    spec = replace(
        lease.spec, holder_identity="", lease_duration_seconds=1, acquire_time=None, renew_time=None
    )
    return SendUpdate(replace(lease, spec=spec), now, now)


# When to look again


def look_later(course: Course, outcome: Outcome | None, now: float) -> SendGet:
    wait = _wait(course, outcome)
    return SendGet(now + wait, now + wait * (1.0 + course.candidate.jitter))


def check_later(course: Course, outcome: Outcome, now: float) -> SendGet:
    at = now + _wait(course, outcome)
    return SendGet(at, at)


def _wait(course: Course, outcome: Outcome | None) -> float:
    asked = outcome.retry_after if outcome is not None else None
    return max(course.candidate.retry_period, min(asked or 0.0, LONGEST_WISH))
