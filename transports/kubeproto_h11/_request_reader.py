"""`RequestReader`: the complete requests of a connection, from bytes that are split anywhere.

h11 has the rules. It takes 80 microseconds for a request without a body, longer than the simulated server
takes to respond. So requests in the plain form that almost every client sends are read by a single pattern::

    plain form ─────> read by the pattern ────────────────────────────────┐
    any other form ─> read by an h11 connection for this request alone ───┴──> a request, or `RequestRefused`

The pattern accepts less than h11: no folded lines, no bytes beyond ASCII, no header about the connection. A
property test compares the requests that both accept.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

import h11
from msgspec import Struct

from kubeproto import RemoteProtocolError
from kubeproto.wire import Headers, RawRequest

from ._exchange import decode_header

_PLAIN_HEAD: Final = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) ([!-~]+) HTTP/1\.1\r\n"
    rb"((?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[\t -~]*\r\n)+)\r\n"
)
# Headers that decide how the body is framed, or whether the connection stays open: h11 interprets them.
_H11_HEADERS: Final = frozenset(("connection", "expect", "transfer-encoding", "upgrade", "http2-settings"))
_MAX_LENGTH_DIGITS: Final = 18  # h11 refuses more than 20


class RequestRefused(RemoteProtocolError):
    """The bytes are not a request that this server accepts; respond with `status`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ReceivedRequest(Struct, frozen=True, gc=False):
    """A complete request."""

    raw: RawRequest
    persistent: bool = True  # the client may send another request on this connection
    accepts_chunks: bool = True  # False for HTTP/1.0, which has no chunked bodies


class RequestReader:
    """Feed bytes, then call `next`. `trailing_data` are the bytes after the last returned request."""

    def __init__(self, *, max_head: int, max_body: int) -> None:
        self.trailing_data = bytearray()
        self.exhausted = False  # the client has closed its side, and all requests before that were returned
        self._closed = False
        self._max_head = max_head
        self._max_body = max_body
        # A plain head whose body is incomplete, and the indexes of the body's begin and end.
        self._plain: tuple[RawRequest, int, int] | None = None
        self._h11: h11.Connection | None = None
        self._request: h11.Request | None = None
        self._body_parts: list[bytes] = []
        self._body_size = 0

    @property
    def outgoing(self) -> bytes:
        """`100 Continue` if the client waits for it before it sends its body; else empty."""
        if self._h11 is None or not self._h11.they_are_waiting_for_100_continue:
            return b""
        return self._h11.send(h11.InformationalResponse(status_code=100, headers=[])) or b""

    def feed(self, data: bytes) -> None:
        """Take bytes of the client; empty when it has closed its side."""
        self._closed = self._closed or not data
        if self._h11 is None:
            self.trailing_data += data
        else:
            self._receive(self._h11, data)

    def next(self) -> ReceivedRequest | None:
        """Return the next complete request; None if more bytes are needed, or if none can follow."""
        if self._h11 is None:
            if not self.trailing_data:
                self.exhausted = self._closed
                return None
            if (request := self._next_plain()) is not None:
                return ReceivedRequest(request)
            if self._plain is not None and not self._closed:
                return None
            self._plain = None
            self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=self._max_head)
            data, self.trailing_data = bytes(self.trailing_data), bytearray()
            self._receive(self._h11, data)
            if self._closed:
                self._receive(self._h11, b"")
        return self._next_from_h11(self._h11)

    def _next_plain(self) -> RawRequest | None:
        if self._plain is None:
            self._plain = self._match_plain_head()
        if self._plain is None or len(self.trailing_data) < self._plain[2]:
            return None
        request, start, end = self._plain
        self._plain = None
        if end > start:
            request = RawRequest(
                request.method, request.target, request.headers, bytes(self.trailing_data[start:end])
            )
        del self.trailing_data[:end]
        return request

    def _match_plain_head(self) -> tuple[RawRequest, int, int] | None:
        match = _PLAIN_HEAD.match(self.trailing_data)
        if match is None or match.end() > self._max_head:
            return None
        headers: list[tuple[str, str]] = []
        host_count, length = 0, ""
        for line in match[3].decode("ascii").split("\r\n")[:-1]:
            name, _, value = line.partition(":")
            value = value.strip(" \t")
            lower = name.lower()
            if lower in _H11_HEADERS:
                return None
            if lower == "host":
                host_count += 1
            elif lower == "content-length":
                if length or not value.isdigit() or len(value) > _MAX_LENGTH_DIGITS:
                    return None
                length = value
            headers.append((name, value))
        size = int(length or 0)
        if host_count != 1 or size > self._max_body:
            return None
        request = RawRequest(match[1].decode("ascii"), _origin_form(match[2].decode("ascii")), tuple(headers))
        return request, match.end(), match.end() + size

    def _receive(self, connection: h11.Connection, data: bytes) -> None:
        try:
            connection.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise _to_refusal(error) from None

    def _next_from_h11(self, connection: h11.Connection) -> ReceivedRequest | None:
        while True:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError as error:
                raise _to_refusal(error) from None
            if isinstance(event, h11.Data):
                self._add_body(bytes(event.data))
            elif isinstance(event, h11.Request):
                self._check_head(event)
                self._request = event
            elif isinstance(event, h11.EndOfMessage):
                return self._complete_request(connection)
            else:
                self.exhausted = isinstance(event, h11.ConnectionClosed)
                return None

    def _check_head(self, request: h11.Request) -> None:
        """Refuse a long head that arrived complete: h11 limits only the bytes of an incomplete head."""
        lengths = (len(name) + len(value) + len(": \r\n") for name, value in request.headers.raw_items())
        if len(request.target) + sum(lengths) > self._max_head:
            raise RequestRefused(431, f"the head of the request is longer than {self._max_head} bytes")

    def _add_body(self, data: bytes) -> None:
        self._body_size += len(data)
        if self._body_size > self._max_body:
            raise RequestRefused(413, f"the body of the request is longer than {self._max_body} bytes")
        self._body_parts.append(data)

    def _complete_request(self, connection: h11.Connection) -> ReceivedRequest:
        h11_request, body = self._request, b"".join(self._body_parts)
        assert h11_request is not None  # h11 returns a request before its end
        # These bytes belong to the next request, or to the protocol that the connection switches to.
        self.trailing_data = bytearray(connection.trailing_data[0])
        self._h11, self._request, self._body_parts, self._body_size = None, None, [], 0
        # raw_items preserves the case of the names, which a log of requests shows.
        headers = tuple(
            (name.decode("latin-1"), decode_header(value)) for name, value in h11_request.headers.raw_items()
        )
        request = RawRequest(
            h11_request.method.decode("ascii"),
            _origin_form(h11_request.target.decode("latin-1")),
            headers,
            body,
        )
        is_http_1_1 = h11_request.http_version >= b"1.1"
        persistent = is_http_1_1 and not (_closes_connection(headers) or _has_two_lengths(headers))
        return ReceivedRequest(request, persistent, is_http_1_1)


def _closes_connection(headers: Headers) -> bool:
    return any(
        option.strip().lower() == "close"
        for name, value in headers
        if name.lower() == "connection"
        for option in value.split(",")
    )


def _has_two_lengths(headers: Headers) -> bool:
    """Return whether a proxy may see another end of the body, so that the connection must close.

    RFC 9112, section 6.1: the next bytes may be smuggled by somebody else.
    """
    names = {name.lower() for name, _ in headers}
    return {"content-length", "transfer-encoding"} <= names


def _origin_form(target: str) -> str:
    """Return the path and query of a target, which may be a complete URL (RFC 9112, section 3.2.2)."""
    if not target.lower().startswith(("http://", "https://")):
        return target
    url = urlsplit(target)
    path = f"{url.path}?{url.query}" if url.query else url.path
    return path if path.startswith("/") else f"/{path}"


def _to_refusal(error: h11.RemoteProtocolError) -> RequestRefused:
    # After the colon h11's message quotes the bytes, which may contain a token.
    problem = str(error).partition(":")[0]
    return RequestRefused(error.error_status_hint, f"this is not an HTTP/1.1 request: {problem}")
