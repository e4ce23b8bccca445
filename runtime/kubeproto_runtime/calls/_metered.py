"""`MeteredTransport`: the transport of a client while operators run on it.

It does two things for the tasks of each operator, which it distinguishes by a context variable: it counts
their requests, and it refuses to send writes for an operator that no longer holds its lease. A process that
was stopped (SIGSTOP, a paused virtual machine) and continued may send writes before any timer of its event
loop fires, so the lease is checked where they are sent, by the clock of the election: before the request
waits for anything, and again by the transport (`Head.check`) when it has credentials and a connection.

Every `Client` that a task of an operator uses is metered from its first request on, wherever it was made: a
plain function that is given to `Operator.run` closes over a client that the operator does not know. A
`BlockingClient` in a thread is not.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from msgspec.structs import replace

from kubeproto import Head, KubeprotoError, TransportError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from contextlib import AbstractAsyncContextManager

    from kubeproto import Incoming, Transport
    from kubeproto.wire import UpgradeRequest, WebSocket

    _Upgrade: TypeAlias = Callable[..., AbstractAsyncContextManager[WebSocket]]

H = TypeVar("H", bound=Head)

Requests: TypeAlias = dict[tuple[str, str, str], int]
"""Counts by code, method and host."""

# Reads do no harm, and caches continue to read while another process leads.
_READS: Final = frozenset({"GET", "HEAD"})


class Sender(Protocol):
    """An object that sends over a replaceable transport: a client."""

    transport: Transport


class LeaseLost(KubeprotoError):
    """A write was not sent, because this process no longer holds the lease of its operator."""


class Meter:
    """One operator as its transports see it. `holds` returns whether it may write, `name` is its lease's."""

    def __init__(self) -> None:
        self.requests: Requests = {}
        self.holds: Callable[[], bool] | None = None
        self.name = ""
        self._adopted: dict[Sender, MeteredTransport] = {}
        self._ended = False

    @contextmanager
    def running(self) -> Generator[None]:
        """Count what this task, and those that it starts, send as this operator's."""
        token = current.set(self)
        try:
            yield
        finally:
            current.reset(token)

    def adopt(self, client: Sender) -> None:
        """Put a `MeteredTransport` under a client, or use the one that another operator has put there."""
        if client in self._adopted or self._ended:
            return
        found = client.transport
        if not isinstance(found, MeteredTransport):
            found = client.transport = MeteredTransport(found)
        found.meters.append(self)
        self._adopted[client] = found

    def end(self) -> None:
        """Undo `adopt`; the last operator to leave gives each client its transport back."""
        self._ended = True
        for client, transport in self._adopted.items():
            transport.meters.remove(self)
            if not transport.meters and client.transport is transport:
                client.transport = transport.inner

    def count(self, code: str, method: str, host: str) -> None:
        """Count a request."""
        mark = (code, method, host)
        self.requests[mark] = self.requests.get(mark, 0) + 1

    def checked(self, head: H) -> H:
        """Return a request that is checked again as it leaves; `LeaseLost` if it may not be sent now."""
        if self.holds is None:
            return head
        self.check(head)
        return replace(head, check=partial(self.check, head))

    def check(self, head: Head) -> None:
        """Raise `LeaseLost` if this operator may not send the request."""
        if self.holds is not None and not self.holds():
            raise LeaseLost(
                f"{head.method} {head.target.partition('?')[0]} was not sent: this process no longer holds"
                f" the lease {self.name}, and another one may be working on the same objects"
            )


# Inherited by every task that an operator starts, directly or indirectly.
current: Final[ContextVar[Meter | None]] = ContextVar("kubeproto_operator", default=None)


class MeteredTransport:
    """Sends over another transport, for one or several operators that share a client."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.meters: list[Meter] = []
        self.host = str(getattr(inner, "host", ""))  # only some transports know their host
        if hasattr(inner, "upgrade"):  # a transport without WebSockets must not seem to have them
            self.upgrade: _Upgrade = self._upgrade
        close = getattr(inner, "aclose", None)
        if close is not None:  # closing the transport of a client closes this one while operators run
            self.aclose: Callable[[], Awaitable[None]] = close

    def __repr__(self) -> str:
        return repr(self.inner)

    @asynccontextmanager
    async def send(
        self, head: Head, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Incoming]:
        """Send a request; without a response it counts under the code `<error>`, as in Go."""
        meter = self._meter()
        if meter is not None and head.method not in _READS:
            head = meter.checked(head)
        code = "<error>"
        try:
            async with self.inner.send(head, timeout=timeout, idle=idle) as incoming:
                code = str(incoming.status)
                self._count(meter, code, head)
                yield incoming
        except TransportError:
            if code == "<error>":
                self._count(meter, code, head)
            raise

    @asynccontextmanager
    async def _upgrade(self, request: UpgradeRequest, **limits: Any) -> AsyncGenerator[WebSocket]:
        meter = self._meter()
        if meter is not None:
            request = meter.checked(request)  # exec is not a read, whatever its method
        inner: Any = self.inner
        upgrade: _Upgrade = inner.upgrade
        async with upgrade(request, **limits) as socket:
            yield socket

    def _meter(self) -> Meter | None:
        """Return the operator whose task this is, if it runs on this transport."""
        meter = current.get()
        return meter if meter in self.meters else None

    def _count(self, meter: Meter | None, code: str, head: Head) -> None:
        if meter is None and self.meters:
            meter = self.meters[0]  # a task that no operator has started: counted once, by the first
        if meter is not None:
            meter.count(code, head.method, self.host)


def transport_of(client: Sender) -> Transport:
    """Return the transport for the next request of a client: metered, in a task of an operator."""
    if (meter := current.get()) is not None:
        meter.adopt(client)
    return client.transport


def unmetered(transport: Transport) -> Transport:
    """Return the transport below, for requests that do not belong to the work: those of an election."""
    return transport.inner if isinstance(transport, MeteredTransport) else transport
