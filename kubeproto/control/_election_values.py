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

# The least ratio of renew deadline and retry period, as in client-go: two attempts must fit into a deadline,
# whatever the jitter.
MIN_DEADLINE_RATIO: Final = 1.2


class Candidate(Struct, frozen=True, kw_only=True):
    """A candidate for leadership, and its lease. The defaults are those of client-go.

    `lease` names the Lease, and is the template for creating it, labels included. All candidates for a Lease
    need different identities. The clocks of candidates may differ in speed by `lease_duration /
    renew_deadline`. With `coordinated` the server chooses the leader:
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
        """Refuse invalid settings; InvalidRequest is a ValueError."""
        meta = self.lease.metadata
        duration: Any = self.lease_duration
        if not self.identity:
            raise InvalidRequest(
                "a candidate needs an identity: in a Lease an empty identity means that nobody leads"
            )
        if not (meta.name and meta.namespace) or meta.resource_version or self.lease.spec.holder_identity:
            raise InvalidRequest(
                "the lease of a candidate needs a name and a namespace, and must not have a"
                " resourceVersion or a holder"
            )
        if not isinstance(duration, int) or duration < 1:
            raise InvalidRequest(f"lease_duration {duration!r} must be an integer of at least 1 second")
        if not duration > self.renew_deadline:
            raise InvalidRequest(
                f"lease_duration {duration!r} must be longer than renew_deadline {self.renew_deadline!r};"
                " otherwise another candidate could acquire the lease while this candidate still leads"
            )
        if not (self.retry_period > 0.0 and self.renew_deadline > MIN_DEADLINE_RATIO * self.retry_period):
            raise InvalidRequest(
                f"renew_deadline {self.renew_deadline!r} must be longer than {MIN_DEADLINE_RATIO} times"
                f" retry_period {self.retry_period!r}, which must be positive; otherwise a single failure"
                " would end the leadership"
            )
        if not self.jitter >= 0.0:
            raise InvalidRequest(f"jitter {self.jitter!r} must not be negative")


class ObservedLease(Struct, frozen=True, gc=False):
    """The last observed lease, since when its spec is unchanged by this candidate's clock, and its holder."""

    candidate: Candidate
    lease: Lease
    since: float
    leader: str = ""


# States. A leader may act until `until` and no longer. The write under way was sent at `sent_after` or later.


class Idle(Struct, frozen=True, gc=False):
    """Not started."""

    candidate: Candidate


class Observing(Struct, frozen=True, gc=False):
    """Does not lead: the lease is read."""

    context: ObservedLease


class Acquiring(Struct, frozen=True, gc=False):
    """Does not lead: the lease is written, and the candidate leads if that succeeds."""

    context: ObservedLease
    sent_after: float


class Renewing(Struct, frozen=True, gc=False):
    """Leads: the lease is renewed. `checked` is true if the lease was read just before."""

    context: ObservedLease
    until: float
    sent_after: float
    checked: bool = False


class Checking(Struct, frozen=True, gc=False):
    """Leads, but a write has failed: the lease is read."""

    context: ObservedLease
    until: float


class Leaving(Struct, frozen=True, gc=False):
    """Leads no longer: the lease is read, to release it before the deadline."""

    context: ObservedLease
    deadline: float


class Releasing(Struct, frozen=True, gc=False):
    """Leads no longer: the lease is released."""

    context: ObservedLease
    deadline: float


class Ended(Struct, frozen=True, gc=False):
    """The machine has ended; another election needs a new machine."""

    candidate: Candidate


State: TypeAlias = Idle | Observing | Acquiring | Renewing | Checking | Leaving | Releasing | Ended


# Events


class Started(Struct, frozen=True, gc=False):
    """The driver has started."""


class LeaseRead(Struct, frozen=True, gc=False):
    """The lease was read."""

    lease: Lease


class LeaseWritten(Struct, frozen=True, gc=False):
    """The lease was created or updated."""

    lease: Lease


class Failed(Struct, frozen=True, gc=False):
    """The request failed."""

    outcome: Outcome


class LeaseExpired(Struct, frozen=True, gc=False):
    """The time of the last `StartLeading` has passed, and the driver has cancelled the work."""


class Stopped(Struct, frozen=True, gc=False):
    """The driver has stopped its work: another candidate may lead right after this event."""


Event: TypeAlias = Started | LeaseRead | LeaseWritten | Failed | LeaseExpired | Stopped


# Actions. The driver sends each request at a random time between `earliest` and `latest`.


class SendGet(Struct, frozen=True, gc=False):
    """Read the lease."""

    earliest: float
    latest: float


class _LeaseWrite(Struct, frozen=True, gc=False):
    lease: Lease
    earliest: float
    latest: float

    def body(self, wall_time: datetime) -> Lease:
        """Return the lease with time stamps, which are for people and have no effect."""
        time = MicroTime.of(wall_time)
        spec = replace(self.lease.spec, renew_time=time, acquire_time=self.lease.spec.acquire_time or time)
        return replace(self.lease, spec=spec)


class SendCreate(_LeaseWrite, frozen=True, gc=False):
    """Create the lease, with the `body` at the moment of sending."""


class SendUpdate(_LeaseWrite, frozen=True, gc=False):
    """Replace the lease, with the `body` at the moment of sending. Its version detects other writers."""


class CancelRequest(Struct, frozen=True, gc=False):
    """Cancel the request that is under way or planned, without reporting its outcome."""


class StartLeading(Struct, frozen=True, gc=False):
    """Lead until this time, and cancel the work then; a later `StartLeading` extends the time."""

    until: float


class StopLeading(Struct, frozen=True, gc=False):
    """Stop leading immediately."""

    reason: str


class ReportLeader(Struct, frozen=True, gc=False):
    """Report the new holder of the lease, which may be this candidate; "" means nobody."""

    leader: str


Action: TypeAlias = (
    SendGet | SendCreate | SendUpdate | CancelRequest | StartLeading | StopLeading | ReportLeader
)


class LeadershipStatus(Struct, frozen=True, gc=False):
    """The state for health checks and metrics: whether the candidate leads, the leader, and its health."""

    leads: bool
    leader: str
    healthy: bool
