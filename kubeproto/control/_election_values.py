"""The events, actions and states of the election machine."""

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

# Of the renew deadline and the retry period: two attempts must fit into one deadline, whatever the jitter.
# Go's.
ROOM: Final = 1.2


class Candidate(Struct, frozen=True, kw_only=True):
    """A candidate for leadership, and its lease. The defaults are those of Go's clients.

    `lease` names the Lease and is what a new one is made from, labels included; all candidates for it need
    different identities. Clocks of candidates may differ in speed by `lease_duration / renew_deadline`. With
    `coordinated` the server chooses the leader:
    https://kubernetes.io/docs/concepts/cluster-administration/coordinated-leader-election/
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
        """Refuse values that cannot work; InvalidRequest is a ValueError."""
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
                f" {self.retry_period!r}, which must be positive: else one failure would end the leadership"
            )
        if not self.jitter >= 0.0:
            raise InvalidRequest(f"jitter {self.jitter!r} must not be negative")


class ObservedLease(Struct, frozen=True, gc=False):
    """What is known of the lease: its last record, and since when, by this candidate's clock."""

    candidate: Candidate
    lease: Lease
    since: float
    leader: str = ""


# States. A leader may act until `until` and no longer. `sent` is a time before which the write
# under way was not sent.


class Idle(Struct, frozen=True, gc=False):
    """Not started."""

    candidate: Candidate


class Looking(Struct, frozen=True, gc=False):
    """Another candidate leads, or nobody is known to: the lease is read."""

    context: ObservedLease


class Taking(Struct, frozen=True, gc=False):
    """The lease is written, to lead if that succeeds."""

    context: ObservedLease
    sent: float


class Renewing(Struct, frozen=True, gc=False):
    """Leads; the lease is renewed. `checked` if it was read just before."""

    context: ObservedLease
    until: float
    sent: float
    checked: bool = False


class Checking(Struct, frozen=True, gc=False):
    """Leads, but could not write: the lease is read."""

    context: ObservedLease
    until: float


class Leaving(Struct, frozen=True, gc=False):
    """Leads no longer; the lease is read, to release it before the deadline."""

    context: ObservedLease
    deadline: float


class Clearing(Struct, frozen=True, gc=False):
    """The lease is released."""

    context: ObservedLease
    deadline: float


class Ended(Struct, frozen=True, gc=False):
    """Ended. A new machine is needed for another election."""

    candidate: Candidate


State: TypeAlias = Idle | Looking | Taking | Renewing | Checking | Leaving | Clearing | Ended


# Events


class Started(Struct, frozen=True, gc=False):
    """The driver takes part from now on."""


class Found(Struct, frozen=True, gc=False):
    """The lease was read, and this is it."""

    lease: Lease


class Wrote(Struct, frozen=True, gc=False):
    """The lease was created or updated, and this is it now."""

    lease: Lease


class Failed(Struct, frozen=True, gc=False):
    """The request failed."""

    outcome: Outcome


class LeaseExpired(Struct, frozen=True, gc=False):
    """The `until` of the last `StartLeading` has passed, by the driver's clock; the work is cancelled."""


class Stopped(Struct, frozen=True, gc=False):
    """The driver stops taking part. Step with it once the work has ended: another may lead right after it."""


Event: TypeAlias = Started | Found | Wrote | Failed | LeaseExpired | Stopped


# Actions. Each request is sent between `at` and `latest`, at a time that the driver draws.


class SendGet(Struct, frozen=True, gc=False):
    """Read the lease."""

    at: float
    latest: float


class SendCreate(Struct, frozen=True, gc=False):
    """Create the lease, as `body` is at the moment of sending."""

    lease: Lease
    at: float
    latest: float

    def body(self, wall: datetime) -> Lease:
        """Return the lease with its times, which are for people to read and decide nothing."""
        return _stamp(self.lease, wall)


class SendUpdate(Struct, frozen=True, gc=False):
    """Replace the lease, as `body` is at the moment of sending; the version in it guards against others."""

    lease: Lease
    at: float
    latest: float

    def body(self, wall: datetime) -> Lease:
        """Return the lease with its times, which are for people to read and decide nothing."""
        return _stamp(self.lease, wall)


class Abandon(Struct, frozen=True, gc=False):
    """Cancel the request that is under way or planned; its outcome must not be reported."""


class StartLeading(Struct, frozen=True, gc=False):
    """Lead, or continue to lead, until this time: cancel the work then, unless a later time was set."""

    until: float


class StopLeading(Struct, frozen=True, gc=False):
    """Stop leading at once."""

    reason: str


class NewLeader(Struct, frozen=True, gc=False):
    """The holder of the lease has changed; it may be this candidate, and "" means nobody."""

    leader: str


Action: TypeAlias = SendGet | SendCreate | SendUpdate | Abandon | StartLeading | StopLeading | NewLeader


class LeadershipStatus(Struct, frozen=True, gc=False):
    """For health checks and metrics: whether this candidate leads, who does, and whether it is healthy."""

    leads: bool
    leader: str
    healthy: bool


def _stamp(lease: Lease, wall: datetime) -> Lease:
    at = MicroTime.of(wall)
    spec = replace(lease.spec, renew_time=at, acquire_time=lease.spec.acquire_time or at)
    return replace(lease, spec=spec)
