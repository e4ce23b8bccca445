"""`BlockingHttpxTransport`: the same for threads and scripts.

httpx bounds each wait on a socket, not their sum, and a blocking read cannot be cancelled. So the timeouts
that it gets here know when they end, see `_patience`. With your own client each wait is bounded separately: a
server that falls silent late may hold the caller up to twice as long, and one that sends its head byte by
byte longer.
"""

from __future__ import annotations

import math
import socket
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, Self

import httpx

from kubeproto import DeadlineExceeded, Head, Headers

from ._clients import make_client
from ._errors import FOREIGN, translated
from ._exchange import CONNECT_TIMEOUT, Timeouts, Trace, build, named, no_websocket, received, replayable
from ._patience import patience

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from kubeproto.config import Connection
    from kubeproto.wire import UpgradeRequest


class BlockingHttpxTransport:
    """Carries requests over an `httpx.Client`: yours, with its `base_url`, or one made for a connection.

    Yours stays open when this is closed, and keeps its settings: its headers, its limits (100 connections,
    unless you say otherwise), its authentication. Redirects are never followed. Threads may share one.
    """

    def __init__(self, over: Connection | httpx.Client) -> None:
        self._owned = not isinstance(over, httpx.Client)
        self._compression = isinstance(over, httpx.Client) or over.compression
        self._client = over if isinstance(over, httpx.Client) else make_client(over)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections. A response that is still being read is closed by its reader."""
        if self._owned:
            self._client.close()

    @contextmanager
    def send(
        self, head: Head, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingHttpxIncoming]:
        """Send a request and wait for the head of its response."""
        deadline = math.inf if timeout is None else monotonic() + timeout
        connect = CONNECT_TIMEOUT if timeout is None else min(CONNECT_TIMEOUT, timeout)
        write = patience(None, deadline)
        timeouts: Timeouts = {"connect": connect, "read": write, "write": write, "pool": timeout}
        response = self._open(head, timeouts, deadline, None if head.body else idle)
        # httpcore reads this once more, when the body begins.
        timeouts["read"] = patience(idle, deadline)
        incoming = BlockingHttpxIncoming(response, named(head), deadline)
        try:
            yield incoming
        finally:
            incoming.close()

    def upgrade(self, request: UpgradeRequest, **_: float | None) -> NoReturn:
        """Refused: httpx has no WebSockets. Use kubeproto_trio or kubeproto_asyncio for those."""
        raise no_websocket(request)

    def _open(self, head: Head, timeouts: Timeouts, deadline: float, idle: float | None) -> httpx.Response:
        trace = Trace(head)

        def note(name: str, info: Mapping[str, Any]) -> None:
            trace.note(name, info)
            if name.endswith(".receive_response_headers.started"):
                # httpcore reads the timeouts next. A proxy's response to CONNECT belongs to the connection.
                seconds = CONNECT_TIMEOUT if info["request"].method == b"CONNECT" else idle
                until = deadline if seconds is None else min(deadline, monotonic() + seconds)
                timeouts["read"] = patience(None, until)

        request = build(self._client, head, timeouts, note, compression=self._compression)
        outcome = self._attempt(request, deadline)
        if replayable(head, trace, outcome):
            outcome = self._attempt(request, deadline)
        if isinstance(outcome, httpx.Response):
            return outcome
        if outcome is None:
            raise DeadlineExceeded(f"{named(head)}: no response in time")
        # Outside the handler, so that our error does not carry what h11 may have quoted of a header.
        error = translated(outcome, named(head), unsent=trace.unsent)
        del outcome  # a traceback may be printed with its variables
        raise error

    def _attempt(self, request: httpx.Request, deadline: float) -> httpx.Response | Exception | None:
        try:
            return self._client.send(request, stream=True, follow_redirects=False)
        except FOREIGN as error:
            return error if monotonic() < deadline else None


class BlockingHttpxIncoming:
    """A response whose body is still arriving: iterate for its bytes, once."""

    def __init__(self, response: httpx.Response, request: str, deadline: float) -> None:
        self.status = response.status_code
        self.headers: Headers = received(response)
        self._response = response
        self._request = request
        self._deadline = deadline
        self._pieces = response.iter_raw()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        try:
            piece = next(self._pieces)
        except FOREIGN as error:
            failure = error
        else:
            if self._deadline == math.inf or monotonic() < self._deadline:
                return piece
            raise DeadlineExceeded(f"{self._request}: the response did not end in time")
        raise translated(failure, self._request)

    def close(self) -> None:
        """Close the connection, or return it to the pool if the whole body has been read."""
        self._response.close()

    def abort(self) -> None:
        """End the read of another thread, which then fails: no more bytes arrive on this connection."""
        stream = self._response.extensions.get("network_stream")
        connection = None if stream is None else stream.get_extra_info("socket")
        if isinstance(connection, socket.socket):
            with suppress(OSError):  # it is closed already
                # An SSLSocket's own shutdown would remove the object that the other thread reads with.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
