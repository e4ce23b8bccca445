"""`outgoing`: the context in which a client sends a request. It checks the fence, counts, and opens a span.

Both clients send every request in it, so that threads are fenced and counted like tasks. The fence and the
counts are those of the operator whose task sends: context variables carry them to each task, and to each
thread of `anyio.to_thread`, that the operator starts. The operator does not need to know the client: a plain
function that is passed to `Operator.run` may use any client.
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
    """Refuses writes, like `LeaseFence`."""

    def check(self, request: RawRequest) -> None:
        """Raise `LeaseLost` if the request must not be sent at this moment."""
        ...


class RequestCounts:
    """The number of requests by code, method and host. Without a response the code is `<error>`, as in Go."""

    def __init__(self) -> None:
        self.totals: dict[tuple[str, str, str], int] = {}
        self._lock = Lock()  # threads count too, and an increment is not atomic

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

    def record_response(self, status: int) -> None:
        """Record the status of the response."""
        self.status = status
        self._traced.record_response(status)
        self._count(str(status))

    def record_failure(self) -> None:
        """Record that the transport failed."""
        if self.status is None:
            self._count("<error>")

    def _count(self, code: str) -> None:
        if self._counts is not None:
            self._counts.add(code, self.request.method, self._host)


@contextmanager
def outgoing(
    request: H, host: str, tracing: Tracing, counters: Sequence[RequestCounts], now: float
) -> Generator[OutgoingRequest[H]]:
    """Prepare a request for the transport. Raise `LeaseLost` if the fence of this task refuses it."""
    request = _add_fence_check(request)
    counts = current_counts.get()
    if counts is None and counters:
        counts = counters[0]  # no operator has started this task: only the first operator counts
    with tracing.request(request, host, now) as traced:
        outgoing_request = OutgoingRequest(traced, counts, host)
        try:
            yield outgoing_request
        except TransportError:
            outgoing_request.record_failure()
            raise


def _add_fence_check(request: H) -> H:
    """Check the fence, and return the request with this check, which the transport repeats.

    The request may wait for credentials and a connection for longer than the lease lasts.
    """
    fence = current_fence.get()
    # Reads are always allowed: the caches of a candidate follow while another process leads. But `exec` is a
    # GET, and may change something.
    if fence is None or (request.method in _READS and not isinstance(request, UpgradeRequest)):
        return request
    fence.check(request)
    return replace(request, check=partial(fence.check, request))
