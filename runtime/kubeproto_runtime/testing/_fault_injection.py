"""Injects a fault at a write of a run, into the observed transports of the operator and of the user.

The writes of a run are numbered in their order. Simulated runs are deterministic, so the third write of the
clean run is also the third write of every run whose fault is injected later. (This requires asyncio: trio
randomizes the order of its tasks.)
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct

from kubeproto import ConnectError, TransportError
from kubeproto_sim import Cluster, Fail, Fault, Faults, ForceConflict, LoseResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto import RawRequest
    from kubeproto_sim import ServerResponse, Stream, User

Author = Literal["operator", "user"]
Respond: TypeAlias = "Callable[[], ServerResponse]"
InjectedFault = Literal[
    "crash before", "crash after", "lost response", "refused", "conflict", "stale cache", "late events",
    "missed events", "lost lease",
]  # fmt: skip
INJECTED_FAULTS: Final[tuple[InjectedFault, ...]] = get_args(InjectedFault)

# Seconds. Without latency, two clients that immediately undo each other's writes would stop the clock
# forever. An example is an operator with a stale cache, which creates an object that the garbage collector
# deletes.
LATENCY: Final = 0.1
MAX_WRITES: Final = 1000  # an operator that sends more writes probably never stops
STALE_TIME: Final = 10.0  # seconds for which a stale cache receives no events
GAP_TIME: Final = 5.0  # seconds whose events a cache never receives
OTHER_LEASE_DURATION: Final = 15  # seconds
_LEASE: Final = "coordination.k8s.io/v1/Lease"
_LEASES: Final = "/leases/"
_NAMESPACE: Final = re.compile(r"/namespaces/[^/]+(?=/)")


class Injection(Struct, frozen=True):
    """A fault and the number of its write."""

    fault: InjectedFault
    write: int

    def __str__(self) -> str:
        return f"{self.fault} at write {self.write}"


class ObservedWrite(Struct, frozen=True):
    """A write of a run: its number, author and request, and whether it changed anything."""

    number: int
    author: Author
    request: str
    changed: bool
    leading: bool  # whether a lease was held

    def __str__(self) -> str:
        return f"write {self.number}, by the {self.author}: {self.request}"


class ObservedRun:
    """A run of a scenario: its fault and its transcript."""

    def __init__(self, cluster: Cluster, injection: Injection | None, ignored: frozenset[str]) -> None:
        self.cluster = cluster
        self.injection = injection
        self.on_crash: Callable[[], None] = _ignore_crash
        self.writes: list[ObservedWrite] = []
        self.lines: list[str] = []
        self.changed_at = cluster.now
        self.refuses_until = 0.0
        self.streams: list[TappedStream] = []
        self._started = cluster.now
        self._ignored = ignored
        self._versions = 0
        cluster.on_change = self._record_change

    def log(self, text: str) -> None:
        """Add a line to the transcript."""
        self.lines.append(f"{self.cluster.now - self._started:9.1f} s  {text}")

    def send(self, request: RawRequest, author: Author, tap: Tap, respond: Respond) -> ServerResponse:
        """Send a write, with the fault if it is injected at this write."""
        number = len(self.writes) + 1
        request_line = f"{request.method} {request.target}"
        fault = self._fault_at(number)
        self.log(f"{author}: {request_line}" + (f"   <-- {fault}" if fault else ""))
        leading = self._has_leader()
        version = self._versions
        try:
            if fault is None:
                return respond()
            return self._respond_with_fault(fault, request, author, tap, respond)
        finally:
            changed = self._versions != version
            self.writes.append(ObservedWrite(number, author, request_line, changed, leading))

    def _fault_at(self, number: int) -> InjectedFault | None:
        if self.injection is not None and self.injection.write == number:
            return self.injection.fault
        return None

    def _respond_with_fault(
        self, fault: InjectedFault, request: RawRequest, author: Author, tap: Tap, respond: Respond
    ) -> ServerResponse:
        match fault:
            case "crash before":
                self.on_crash()
                raise ConnectError("the operator was killed before its request was sent")
            case "crash after":
                response = respond()
                self.on_crash()
                if author == "operator":
                    raise TransportError("the operator was killed before the response arrived")
                return response
            case "lost response":
                return tap.respond_with(LoseResponse())
            case "refused":
                return tap.respond_with(Fail())
            case "conflict":
                return tap.respond_with(ForceConflict())
            case "stale cache":
                self._delay_events(self.streams)
            case "late events":
                self._delay_events([stream for stream in self.streams if stream.includes(request)])
            case "missed events":
                self._skip_events()
            case "lost lease":
                self._transfer_leases()
        return respond()

    def _delay_events(self, streams: list[TappedStream]) -> None:
        for stream in streams:
            stream.delayed_until = self.cluster.now + STALE_TIME
        self.cluster.later(STALE_TIME, self._wake_all)

    def _skip_events(self) -> None:
        """Break the watches of the operator, and compact the events before its next watch."""
        self.refuses_until = self.cluster.now + GAP_TIME
        for stream in self.streams:
            stream.broken = True
        self._wake_all()
        self.cluster.later(GAP_TIME, self.cluster.compact)

    def _transfer_leases(self) -> None:
        for lease in self.cluster.objects(_LEASE):
            if lease.get("spec", {}).get("holderIdentity"):
                metadata = lease["metadata"]
                self.cluster.edit(_LEASE, metadata["name"], _set_other_holder, metadata["namespace"])

    def _has_leader(self) -> bool:
        return any(lease.get("spec", {}).get("holderIdentity") for lease in self.cluster.objects(_LEASE))

    def _wake_all(self) -> None:
        for stream in self.streams:
            stream.wake_reader()

    def _record_change(self, change: Any) -> None:
        if change.resource not in self._ignored:
            self._versions += 1
            self.changed_at = self.cluster.now


class Tap(Faults):
    """Connects a client to the cluster of a run. A dead process sends and receives nothing."""

    def __init__(self, observed: ObservedRun, author: Author) -> None:
        super().__init__(observed.cluster)
        self.dead = False
        self._observed = observed
        self._author: Author = author

    def respond(
        self, request: RawRequest, user: User | str | None = None, replies: Any = None
    ) -> ServerResponse:
        """Respond to a request, with the fault if it is injected at this write."""
        observed, respond = self._observed, partial(self.cluster.respond, request, user, replies)
        self._respond_normally = partial(super().respond, request, user, replies)
        if self.dead:
            raise ConnectError("the process was killed")
        if len(observed.writes) >= MAX_WRITES:
            raise ConnectError("the run has sent too many writes")
        if request.method != "GET":
            if _LEASES in request.target or request.target.endswith("/leases"):
                return respond()
            response = observed.send(request, self._author, self, respond)
            return msgspec.structs.replace(response, delay=response.delay + LATENCY)
        if self._author == "user":
            return respond()
        if self.cluster.now < observed.refuses_until:
            raise ConnectError("the connection was refused")
        response = respond()
        if isinstance(response.body, bytes):
            return response
        stream = TappedStream(observed, self, request, response.body)
        observed.streams.append(stream)
        return msgspec.structs.replace(response, body=stream)

    def respond_with(self, fault: Fault) -> ServerResponse:
        """Respond to the request with a fault of the simulator."""
        self.script.append(fault)
        return self._respond_normally()


class TappedStream:
    """A watch of the operator, which can be delayed and broken."""

    def __init__(self, observed: ObservedRun, tap: Tap, request: RawRequest, source: Stream) -> None:
        self.wake: Callable[[], None] | None = None
        self.broken = False
        self.delayed_until = 0.0
        self._observed = observed
        self._tap = tap
        self._path = _path_without_namespace(request)
        self._source = source
        source.wake = self.wake_reader

    @property
    def ended(self) -> bool:
        """Whether no more bytes will arrive."""
        return not self._delayed and not self.broken and self._source.ended

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        if self.broken:
            raise TransportError("the connection was reset")
        return b"" if self._delayed else self._source.take()

    def close(self) -> None:
        """Close the stream: the client has stopped reading."""
        if self in self._observed.streams:
            self._observed.streams.remove(self)
        self._source.close()

    def includes(self, write: RawRequest) -> bool:
        """Return whether this watch includes the objects of a write."""
        return f"{_path_without_namespace(write)}/".startswith(f"{self._path}/")

    def wake_reader(self) -> None:
        """Wake the reader."""
        if self.wake is not None:
            self.wake()

    @property
    def _delayed(self) -> bool:
        return self._tap.dead or self._observed.cluster.now < self.delayed_until


def _path_without_namespace(request: RawRequest) -> str:
    """Return the path of a request without its namespace."""
    return _NAMESPACE.sub("", request.target.partition("?")[0])


def _set_other_holder(lease: dict[str, Any]) -> None:
    spec = lease["spec"]
    spec["holderIdentity"] = "another"
    spec["leaseDurationSeconds"] = OTHER_LEASE_DURATION
    spec["leaseTransitions"] = spec.get("leaseTransitions", 0) + 1


def _ignore_crash() -> None:
    pass
