"""`BlockingHttpxTransport`: requests over an `httpx.Client`, for threads and scripts.

httpx limits each wait on a socket, not their sum, and a blocking read cannot be cancelled. So the timeouts
passed to it are `DeadlineTimeout`s. With your own client each wait is limited separately: a server that falls
silent late may block the caller up to twice as long, and a server that sends its head byte by byte longer.
"""

from __future__ import annotations

import math
import socket
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, Self

import httpx

from kubeproto import DeadlineExceeded, Headers, RawRequest
from kubeproto_sockets import CONNECT_TIMEOUT

from ._blocking_deadlines import limit_timeout
from ._httpx_clients import make_client
from ._httpx_errors import HTTPX_ERRORS, translate_error
from ._httpx_requests import (
    RequestTrace,
    Timeouts,
    build_request,
    decode_headers,
    may_replay,
    request_name,
    websocket_unsupported_error,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from kubeproto.config import Connection
    from kubeproto.wire import UpgradeRequest


class BlockingHttpxTransport:
    """Carries requests over an `httpx.Client`: yours, with its `base_url`, or one for a connection.

    Your client stays open when the transport is closed, and its settings apply: its headers, its limits (100
    connections by default), its authentication. Redirects are never followed. Threads may share a transport.
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
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingHttpxResponse]:
        """Send a request and wait for the head of its response."""
        deadline = math.inf if timeout is None else monotonic() + timeout
        connect = CONNECT_TIMEOUT if timeout is None else min(CONNECT_TIMEOUT, timeout)
        write = limit_timeout(None, deadline)
        timeouts: Timeouts = {"connect": connect, "read": write, "write": write, "pool": timeout}
        response = self._open(request, timeouts, deadline, None if request.body else idle)
        # httpcore reads this again when the body begins.
        timeouts["read"] = limit_timeout(idle, deadline)
        incoming = BlockingHttpxResponse(response, request_name(request), deadline)
        try:
            yield incoming
        finally:
            incoming.close()

    def upgrade(self, request: UpgradeRequest, **_: float | None) -> NoReturn:
        """Raise `LocalProtocolError`: for WebSockets use kubeproto_trio or kubeproto_asyncio."""
        raise websocket_unsupported_error(request)

    def _open(
        self, request: RawRequest, timeouts: Timeouts, deadline: float, idle: float | None
    ) -> httpx.Response:
        trace = RequestTrace(request)

        def record(name: str, info: Mapping[str, Any]) -> None:
            trace.record(name, info)
            if name.endswith(".receive_response_headers.started"):
                # httpcore reads the timeouts next. A proxy's response to CONNECT is part of connecting.
                seconds = CONNECT_TIMEOUT if info["request"].method == b"CONNECT" else idle
                head_deadline = deadline if seconds is None else min(deadline, monotonic() + seconds)
                timeouts["read"] = limit_timeout(None, head_deadline)

        httpx_request = build_request(self._client, request, timeouts, record, compression=self._compression)
        outcome = self._attempt(httpx_request, deadline)
        if may_replay(request, trace, outcome):
            outcome = self._attempt(httpx_request, deadline)
        if isinstance(outcome, httpx.Response):
            return outcome
        if outcome is None:
            raise DeadlineExceeded(f"{request_name(request)}: no response in time")
        # Raised outside the handler, so that our error does not carry h11's, which may quote a header.
        error = translate_error(outcome, request_name(request), unsent=trace.unsent)
        del outcome  # a traceback may be printed with its variables
        raise error

    def _attempt(self, request: httpx.Request, deadline: float) -> httpx.Response | Exception | None:
        try:
            return self._client.send(request, stream=True, follow_redirects=False)
        except HTTPX_ERRORS as error:
            return error if monotonic() < deadline else None


class BlockingHttpxResponse:
    """A response whose body is still arriving: iterate over its bytes, once."""

    def __init__(self, response: httpx.Response, request: str, deadline: float) -> None:
        self.status = response.status_code
        self.headers: Headers = decode_headers(response)
        self._response = response
        self._request = request
        self._deadline = deadline
        self._chunks = response.iter_raw()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        try:
            chunk = next(self._chunks)
        except HTTPX_ERRORS as error:
            failure = error
        else:
            if self._deadline == math.inf or monotonic() < self._deadline:
                return chunk
            raise DeadlineExceeded(f"{self._request}: the response did not end in time")
        raise translate_error(failure, self._request)

    def close(self) -> None:
        """Close the connection, or return it to the pool if the complete body has been read."""
        self._response.close()

    def abort(self) -> None:
        """Make the read of another thread fail: no more bytes arrive on this connection."""
        stream = self._response.extensions.get("network_stream")
        connection = None if stream is None else stream.get_extra_info("socket")
        if isinstance(connection, socket.socket):
            with suppress(OSError):  # the socket is closed already
                # An SSLSocket's own shutdown would remove the object that the other thread reads with.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
