"""The core's transports to a simulated cluster, which neither do I/O nor wait.

Where a real transport would wait for bytes, time jumps to the next moment at which something happens: a
bookmark, a timeout, the end of a grace period. So an idle watch ends at once with its timeout, and silence
that lasts longer than `idle` is a `DeadlineExceeded` at once. A driver with a clock of its own uses
`Cluster.answer` instead, and reads from the streams itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Protocol

from .._errors import DeadlineExceeded
from ..wire import Head, Headers
from ._streams import Stream
from .serving._messages import ServerResponse

Answering = Callable[[Head], ServerResponse]


class VirtualServer(Protocol):
    """What transports need of a cluster: its responses, and its clock."""

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        ...

    @property
    def due(self) -> float | None:
        """When something happens without a request next; None if nothing will."""
        ...

    def answer(self, head: Head) -> ServerResponse:
        """Respond to a request."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass, and do everything that is due."""
        ...

    def advance_to(self, time: float) -> None:
        """Let time pass until `time`."""
        ...

    def settle(self) -> None:
        """Let the controllers do what is left to do."""
        ...


class Receiving:
    """A response whose body is still arriving: iterate over its bytes, once, async or not."""

    def __init__(
        self, cluster: VirtualServer, answer: ServerResponse, deadline: float | None, idle: float | None
    ) -> None:
        self.status = answer.status
        self.headers: Headers = answer.headers
        self.body = answer.body
        self._cluster = cluster
        self._deadline = deadline
        self._idle = idle

    def __iter__(self) -> Iterator[bytes]:
        while True:
            piece = self._next()
            if piece is None:
                return
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def _next(self) -> bytes | None:
        """Return the next bytes; None at the end. Time jumps until there are some."""
        body = self.body
        if isinstance(body, bytes):
            self.body = b""
            return body or None
        silent_since = self._cluster.now
        while True:
            if data := body.take():
                return data
            if body.ended:
                return None
            self._cluster.settle()  # controllers do what is left to do before any time passes
            if data := body.take():
                return data
            if not body.ended:
                self._jump(silent_since)

    def _jump(self, silent_since: float) -> None:
        cluster = self._cluster
        ends = [time for time in (self._deadline, self._silence(silent_since)) if time is not None]
        end, due = min(ends, default=None), cluster.due
        if due is None or (end is not None and end < due):
            if end is None:
                raise DeadlineExceeded("nothing will ever arrive on this stream, and no limit was given")
            cluster.advance_to(end)
            raise DeadlineExceeded(f"no bytes came until {end - silent_since:g} s had passed")
        cluster.advance_to(due)

    def _silence(self, since: float) -> float | None:
        return None if self._idle is None else since + self._idle


class _Exchange:
    """One request under way. Leaving it closes what is still open."""

    def __init__(
        self,
        cluster: VirtualServer,
        answering: Answering,
        head: Head,
        timeout: float | None,
        idle: float | None,
    ) -> None:
        self._cluster = cluster
        self._answering = answering
        self._head = head
        self._timeout = timeout
        self._idle = idle
        self._body: bytes | Stream = b""

    def __enter__(self) -> Receiving:
        cluster, begun = self._cluster, self._cluster.now
        deadline = None if self._timeout is None else begun + self._timeout
        answer = self._answering(self._head)
        self._body = answer.body
        limits = [limit for limit in (self._timeout, self._idle) if limit is not None]
        if answer.after > min(limits, default=answer.after):
            cluster.advance(min(limits))
            raise DeadlineExceeded(f"no response within {min(limits):g} s")
        if answer.after:
            cluster.advance(answer.after)
        return Receiving(cluster, answer, deadline, self._idle)

    def __exit__(self, *_: object) -> None:
        if not isinstance(self._body, bytes):
            self._body.close()

    async def __aenter__(self) -> Receiving:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


class SimTransport:
    """Carries requests to a simulated cluster, for any event loop or none."""

    def __init__(self, cluster: VirtualServer, answering: Answering | None = None) -> None:
        self.cluster = cluster
        self._answering = answering or cluster.answer

    def send(self, head: Head, *, timeout: float | None = None, idle: float | None = None) -> _Exchange:
        """Send a request and wait for the head of its response."""
        return _Exchange(self.cluster, self._answering, head, timeout, idle)


class BlockingSimTransport(SimTransport):
    """Send a request and return the head of its response, for blocking use."""
