"""`ServerConnection`: the server's side of an HTTP/1.1 connection, as bytes in and bytes out.

`RequestReader` reads requests, by h11's rules. This machine orders requests and responses, and writes the
responses::

    idle ──feed──> `next_request` returns a RawRequest ──┬─ respond ────────────────> idle, or `closing`
      │                                            ├─ start ── send … finish ──> idle, or `closing`
      │                                            └─ switch ──> another protocol, with `trailing_data`
      └── malformed bytes ──> `RequestRefused`; send the bytes that `refuse` returns, then close

A request is returned with its complete body, of at most `max_body` bytes. Pipelined requests are returned one
by one, each after the response to the previous one. Responses are written here and not by h11, because only
the server chooses their content; the few checks that remain are those in `_encode_head` and `send`.
"""

from __future__ import annotations

from typing import Final

from kubeproto import LocalProtocolError
from kubeproto.wire import Headers, RawRequest, phrase_of

from ._exchange import MAX_HEAD
from ._request_reader import ReceivedRequest, RequestReader, RequestRefused

# Kubernetes accepts 3 MiB; a request that is too large should still get Kubernetes' own message.
_MAX_BODY: Final = 4 * 1024 * 1024

_STATUSES_WITHOUT_BODY: Final = frozenset((204, 304))

# In place of the number of missing bytes, for a body without a declared length.
_CHUNKED: Final = -1
_UNTIL_CLOSE: Final = -2  # for a client of HTTP/1.0, which has no chunked bodies


class ServerConnection:
    """A connection of a server: feed bytes, respond to each request, send the bytes that methods return."""

    def __init__(self, *, max_head: int = MAX_HEAD, max_body: int = _MAX_BODY) -> None:
        self._reader = RequestReader(max_head=max_head, max_body=max_body)
        self._request: ReceivedRequest | None = None  # the request without a complete response
        self._response_started = False
        self._missing = 0  # bytes that the declared body still lacks
        self._bodiless = False  # the response being sent has no body, whatever the handler sends
        self._last = False  # no request can follow

    @property
    def outgoing(self) -> bytes:
        """`100 Continue` if the client waits for it before it sends its body; else empty."""
        return self._reader.outgoing

    @property
    def closing(self) -> bool:
        """True if no further request can arrive on this connection."""
        return self._request is None and (self._last or self._reader.exhausted)

    @property
    def trailing_data(self) -> bytes:
        """The bytes after the request, for the protocol that the connection has switched to."""
        return bytes(self._reader.trailing_data)

    def feed(self, data: bytes) -> None:
        """Take bytes of the client; empty when it has closed its side."""
        self._reader.feed(data)

    def next_request(self) -> RawRequest | None:
        """Return the next complete request; None if more bytes are needed, or if none can follow."""
        if self._request is not None or self._last:
            return None  # the previous response comes first
        self._request = self._reader.next()
        return None if self._request is None else self._request.raw

    def respond(self, status: int, headers: Headers, body: bytes = b"") -> bytes:
        """Return the bytes of a complete response. Its length is added unless `headers` declare it."""
        return self._respond(self._require_request(), status, headers, body)

    def start(self, status: int, headers: Headers) -> bytes:
        """Return the head of a response; `send` its body, which is chunked unless a length is declared."""
        return self._start(self._require_request(), status, headers, None)

    def send(self, data: bytes) -> bytes:
        """Return the bytes that carry this part of the body."""
        if not self._response_started:
            raise LocalProtocolError("the body of a response cannot be sent before `start`")
        if not data or self._bodiless:
            return b""
        if self._missing == _CHUNKED:
            return b"%x\r\n%b\r\n" % (len(data), data)
        if self._missing != _UNTIL_CLOSE:
            self._missing -= len(data)
            if self._missing < 0:
                raise LocalProtocolError("the body of the response is longer than its Content-Length")
        return data

    def finish(self) -> bytes:
        """Return the bytes that end the response, and accept the next request if there can be one."""
        if not self._response_started:
            raise LocalProtocolError("a response cannot be finished before `start`")
        if self._missing > 0 and not self._bodiless:
            raise LocalProtocolError(
                f"the response cannot be finished: its body lacks {self._missing} bytes of its Content-Length"
            )
        last_chunk = b"0\r\n\r\n" if self._missing == _CHUNKED and not self._bodiless else b""
        self._request, self._response_started = None, False
        return last_chunk

    def switch(self, headers: Headers) -> bytes:
        """Return the head of a 101, after which the connection belongs to another protocol."""
        self._require_request()
        self._request, self._last = None, True
        return _encode_head(101, headers)

    def refuse(self, refusal: RequestRefused) -> bytes:
        """Return the response to malformed bytes; nothing else can be sent after it."""
        if self._response_started:
            return b""  # the client would read it as part of that response
        self._last = True
        unread = ReceivedRequest(RawRequest("GET", "/"), persistent=False)
        headers = (("Content-Type", "text/plain; charset=utf-8"),)
        return self._respond(unread, refusal.status, headers, f"{refusal}\n".encode())

    def _require_request(self) -> ReceivedRequest:
        if self._request is None or self._response_started:
            raise LocalProtocolError(
                "a response cannot be sent now: "
                + ("another has been started" if self._response_started else "there is no request")
            )
        return self._request

    def _respond(self, request: ReceivedRequest, status: int, headers: Headers, body: bytes) -> bytes:
        head = self._start(request, status, headers, len(body))
        framed_body = self.send(body)
        return head + framed_body + self.finish()

    def _start(
        self, request: ReceivedRequest, status: int, headers: Headers, body_length: int | None
    ) -> bytes:
        """Return the head of a response. `body_length` is added if the headers do not declare a length."""
        fields: list[tuple[str, str]] = []
        declared: int | None = None
        persistent = request.persistent
        for field in headers:
            name = field[0].lower()
            if name == "transfer-encoding":
                continue  # written below, if the body is chunked
            if name == "content-length":
                declared = int(field[1])
            elif name == "connection":
                persistent = persistent and "close" not in field[1].lower()
                continue
            fields.append(field)
        empty = status in _STATUSES_WITHOUT_BODY
        if declared is None and body_length is not None and not empty:
            declared = body_length
            fields.append(("Content-Length", str(body_length)))
        if declared is not None or empty:
            self._missing = declared or 0
        elif request.accepts_chunks:
            self._missing = _CHUNKED
            fields.append(("Transfer-Encoding", "chunked"))
        else:
            self._missing, persistent = _UNTIL_CLOSE, False
        if not persistent:
            fields.append(("Connection", "close"))
        head = _encode_head(status, fields)
        self._response_started, self._last = True, self._last or not persistent
        self._bodiless = empty or request.raw.method == "HEAD"
        return head


def _encode_head(status: int, headers: Headers | list[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {phrase_of(status)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    head = "\r\n".join(lines).encode()
    line_ends = len(headers)
    if head.count(b"\r") != line_ends or head.count(b"\n") != line_ends or b"\0" in head:
        # A client that chooses part of a header must not be able to write a response of its own.
        raise LocalProtocolError("a header of the response contains a line break or a NUL")
    return head + b"\r\n\r\n"
