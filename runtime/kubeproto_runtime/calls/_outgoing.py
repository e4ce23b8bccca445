"""`outgoing`: a request as a client sends it: checked by the fence, counted, and within a span.

Both clients send every request through it, so threads are fenced and counted as tasks are. The fence and the
counts are those of the operator whose task sends: context variables carry them to each task, and to each
thread of `anyio.to_thread`, that the operator starts. A client need not be known to the operator: a plain
function that is given to `Operator.run` may close over any client.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from msgspec.structs import replace

from kubeproto import KubeprotoError, RawRequest, TransportError
from kubeproto.wire import UpgradeRequest

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ._request_tracing import TracedRequest, Tracing

H = TypeVar("H", bound=RawRequest)

_READS: Final = frozenset({"GET", "HEAD"})


class LeaseLost(KubeprotoError):
    """A write was not sent, because this process no longer holds the lease of its operator."""


class WriteFence(Protocol):
    """Refuses writes: `LeaseFence` is one."""

    def check(self, request: RawRequest) -> None:
        """Raise `LeaseLost` if the request must not be sent at this moment."""
        ...


class RequestCounts:
    """Requests by code, method and host. One without a response counts under `<error>`, as in Go."""

    def __init__(self) -> None:
        self.totals: dict[tuple[str, str, str], int] = {}
        self._lock = Lock()  # threads count too, and an increment is a read and a write

    def add(self, code: str, method: str, host: str) -> None:
        """Count a request."""
        labels = code, method, host
        with self._lock:
            self.totals[labels] = self.totals.get(labels, 0) + 1


current_fence: Final[ContextVar[WriteFence | None]] = ContextVar("kubeproto_fence", default=None)
current_counts: Final[ContextVar[RequestCounts | None]] = ContextVar("kubeproto_counts", default=None)


class OutgoingRequest(Generic[H]):
    """A request with the headers of its span and the check of its fence."""

    __slots__ = ("_counts", "_host", "_traced", "request", "status")

    def __init__(self, traced: TracedRequest[H], counts: RequestCounts | None, host: str) -> None:
        self.request = traced.request
        self.status: int | None = None
        self._traced = traced
        self._counts = counts
        self._host = host

    def responded(self, status: int) -> None:
        """Note the status of the response."""
        self.status = status
        self._traced.responded(status)
        self._count(str(status))

    def failed(self) -> None:
        """Note that the transport failed."""
        if self.status is None:
            self._count("<error>")

    def _count(self, code: str) -> None:
        if self._counts is not None:
            self._counts.add(code, self.request.method, self._host)


@contextmanager
def outgoing(
    request: H, host: str, tracing: Tracing, counters: Sequence[RequestCounts], now: float
) -> Generator[OutgoingRequest[H]]:
    """Prepare a request for the transport; `LeaseLost` if the fence of this task refuses it."""
    request = _fenced(request)
    counts = current_counts.get()
    if counts is None and counters:
        counts = counters[0]  # a task that no operator has started: counted once, by the first
    with tracing.request(request, host, now) as traced:
        outgoing_request = OutgoingRequest(traced, counts, host)
        try:
            yield outgoing_request
        except TransportError:
            outgoing_request.failed()
            raise


def _fenced(request: H) -> H:
    """Return the request with the check of the fence, for the transport to repeat.

    The request may wait for credentials and a connection for longer than the lease lasts.
    """
    fence = current_fence.get()
    # Reads do no harm: the caches of a candidate follow while another process leads. `exec` is a GET that
    # changes something.
    if fence is None or (request.method in _READS and not isinstance(request, UpgradeRequest)):
        return request
    fence.check(request)
    return replace(request, check=partial(fence.check, request))
