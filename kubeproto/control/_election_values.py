"""What the election machine is told, what it answers, and what it remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .._errors import InvalidRequest
from ..objects import MicroTime
from ..wire import Outcome

if TYPE_CHECKING:
    from datetime import datetime

    from ..kinds.coordination_v1 import Lease
else:
    # For help() and inspect.signature(); importing the built-in kinds would cost milliseconds.
    Lease = Any

# Of the renew deadline and the retry period: two tries must fit into one deadline, whatever the jitter. Go's.
ROOM: Final = 1.2


class Candidate(Struct, frozen=True, kw_only=True):
    """Who wants to lead, and under which lease. The defaults are those of Go's clients.

    `lease` names the Lease and is what a new one is made from, labels and all; all candidates for it need
    different identities. Clocks of candidates may differ in speed by `lease_duration / renew_deadline`.
    `coordinated` leaves it to the server who leads: https://kubernetes.io/docs/concepts/cluster-administration/coordinated-leader-election/
    """

    lease: Lease
    identity: str
    lease_duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    jitter: float = 1.2
    release: bool = True
    coordinated: bool = False

    def __post_init__(self) -> None:
        """Refuse what could not be kept to; InvalidRequest is a ValueError."""
        meta = self.lease.metadata
        length: Any = self.lease_duration
        if not self.identity:
            raise InvalidRequest("a candidate needs an identity: an empty one means that nobody leads")
        if not (meta.name and meta.namespace) or meta.resource_version or self.lease.spec.holder_identity:
            raise InvalidRequest(
                "a candidate's lease has a name and a namespace, and no version or holder yet"
            )
        if not isinstance(length, int) or length < 1:
            raise InvalidRequest(f"lease_duration {length!r}: a Lease counts in whole seconds, from 1 on")
        if not length > self.renew_deadline:
            raise InvalidRequest(
                f"lease_duration {length!r} must be longer than renew_deadline {self.renew_deadline!r}: else"
                " another could take the lease while this one still leads"
            )
        if not (self.retry_period > 0.0 and self.renew_deadline > ROOM * self.retry_period):
            raise InvalidRequest(
                f"renew_deadline {self.renew_deadline!r} must be longer than {ROOM} times retry_period"
                f" {self.retry_period!r}, which must be positive: else one failure would end every term"
            )
        if not self.jitter >= 0.0:
            raise InvalidRequest(f"jitter {self.jitter!r} must not be negative")


class ObservedLease(Struct, frozen=True, gc=False):
    """What is known of the lease: as it was last seen, and since when (by the own clock) it says so."""

    candidate: Candidate
    lease: Lease
    since: float
    leader: str = ""


# States. Who leads may act before `until` and not a moment longer. `sent` is a time before which the write
# that is under way was not sent.


class Idle(Struct, frozen=True, gc=False):
    """Not begun."""

    candidate: Candidate


class Looking(Struct, frozen=True, gc=False):
    """Another leads, or nobody is known to: the lease is asked for."""

    context: ObservedLease


class Taking(Struct, frozen=True, gc=False):
    """The lease is written, to lead if that works."""

    context: ObservedLease
    sent: float


class Renewing(Struct, frozen=True, gc=False):
    """Leads; the lease is written anew. `checked`: it was looked at just before."""

    context: ObservedLease
    until: float
    sent: float
    checked: bool = False


class Checking(Struct, frozen=True, gc=False):
    """Leads, but could not write: the lease is asked for."""

    context: ObservedLease
    until: float


class Leaving(Struct, frozen=True, gc=False):
    """Leads no more; the lease is asked for, to give it back before the deadline."""

    context: ObservedLease
    deadline: float


class Clearing(Struct, frozen=True, gc=False):
    """The lease is given back."""

    context: ObservedLease
    deadline: float


class Ended(Struct, frozen=True, gc=False):
    """Over. To stand again, begin anew."""

    candidate: Candidate


State: TypeAlias = Idle | Looking | Taking | Renewing | Checking | Leaving | Clearing | Ended


# Events


class Started(Struct, frozen=True, gc=False):
    """The candidate stands."""


class Found(Struct, frozen=True, gc=False):
    """This is the lease that was asked for."""

    lease: Lease


class Wrote(Struct, frozen=True, gc=False):
    """The lease was created or updated, and this is it now."""

    lease: Lease


class Failed(Struct, frozen=True, gc=False):
    """The request failed."""

    outcome: Outcome


class LeaseExpired(Struct, frozen=True, gc=False):
    """The `until` of the last `StartLeading` has passed, by the driver's clock; the work is cut off."""


class Stopped(Struct, frozen=True, gc=False):
    """The candidate stands no more. Said once its work has ended: a moment later another may lead."""


Event: TypeAlias = Started | Found | Wrote | Failed | LeaseExpired | Stopped


# Actions. Each send is for a time from `at` to `latest`, which the driver draws.


class SendGet(Struct, frozen=True, gc=False):
    """Read the lease."""

    at: float
    latest: float


class SendCreate(Struct, frozen=True, gc=False):
    """Create the lease, as `body` says at the moment of sending."""

    lease: Lease
    at: float
    latest: float

    def body(self, wall: datetime) -> Lease:
        """The lease with its times, which are for people to read and decide nothing."""
        return _stamp(self.lease, wall)


class SendUpdate(Struct, frozen=True, gc=False):
    """Replace the lease, as `body` says at the moment of sending; the version in it guards against others."""

    lease: Lease
    at: float
    latest: float

    def body(self, wall: datetime) -> Lease:
        """The lease with its times, which are for people to read and decide nothing."""
        return _stamp(self.lease, wall)


class Abandon(Struct, frozen=True, gc=False):
    """Drop the request that is under way or planned; its answer is not to be told."""


class StartLeading(Struct, frozen=True, gc=False):
    """Lead, or go on leading, until this time: cut the work off then, unless a later one has come."""

    until: float


class StopLeading(Struct, frozen=True, gc=False):
    """Stop at once: lead no more."""

    reason: str


class NewLeader(Struct, frozen=True, gc=False):
    """Another leads now, perhaps oneself; "" is nobody."""

    leader: str


Action: TypeAlias = SendGet | SendCreate | SendUpdate | Abandon | StartLeading | StopLeading | NewLeader


class LeadershipStatus(Struct, frozen=True, gc=False):
    """For health checks and metrics: whether this one leads, who does, and whether the machine is alive."""

    leads: bool
    leader: str
    healthy: bool


def _stamp(lease: Lease, wall: datetime) -> Lease:
    at = MicroTime.of(wall)
    spec = replace(lease.spec, renew_time=at, acquire_time=lease.spec.acquire_time or at)
    return replace(lease, spec=spec)
