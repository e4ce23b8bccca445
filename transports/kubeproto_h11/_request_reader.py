"""`RequestReader`: the complete requests of one connection, from bytes that are cut anywhere.

h11 has the rules. It takes 80 microseconds for a request without a body, longer than the simulated server
takes to respond, so requests in the plain form that almost every client sends are read by one pattern::

    in the plain form ──> read by the pattern ───────────────────────────┐
    anything else ──────> read by an h11 connection made for it alone ───┴──> a request, or `RequestRefused`

The pattern accepts less than h11 does: no folded lines, no bytes beyond ASCII, no header about the
connection. Both read the same from what both accept; a property test compares them.
"""

from __future__ import annotations

import re
from typing import Final

import h11
from msgspec import Struct

from kubeproto import RemoteProtocolError
from kubeproto.wire import Head, Headers

_PLAIN: Final = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) ([!-~]+) HTTP/1\.1\r\n"
    rb"((?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[\t -~]*\r\n)+)\r\n"
)
# Headers that decide how the body is framed, or whether the connection stays open: h11 reads them.
_WEIGHTY: Final = frozenset(("connection", "expect", "transfer-encoding", "upgrade", "http2-settings"))
_LONGEST_LENGTH: Final = 18  # digits; h11 refuses more than 20


class RequestRefused(RemoteProtocolError):
    """The bytes are not a request that this server reads: `status` is the one to respond with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ReadRequest(Struct, frozen=True, gc=False):
    """A whole request; `stays` says whether the client would send another one after it."""

    head: Head
    stays: bool = True
    chunks: bool = True  # HTTP/1.0 has no chunked bodies


class RequestReader:
    """Feed it bytes, then call `next`. `rest` are the bytes after the last request that was read."""

    def __init__(self, *, max_head: int, max_body: int) -> None:
        self.rest = bytearray()
        self.ended = False  # the client has closed its side, and all that came before has been read
        self._closed = False
        self._max_head = max_head
        self._max_body = max_body
        self._plain: tuple[Head, int, int] | None = None  # its body is awaited: begin and end
        self._h11: h11.Connection | None = None
        self._request: h11.Request | None = None
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def outgoing(self) -> bytes:
        """`100 Continue` if the client waits for that before it sends its body; else nothing."""
        if self._h11 is None or not self._h11.they_are_waiting_for_100_continue:
            return b""
        return self._h11.send(h11.InformationalResponse(status_code=100, headers=[])) or b""

    def feed(self, data: bytes) -> None:
        """Take bytes of the client; empty when it has closed its side."""
        self._closed = self._closed or not data
        if self._h11 is None:
            self.rest += data
        else:
            self._receive(self._h11, data)

    def next(self) -> ReadRequest | None:
        """Return the next request once it is whole; None if more bytes are needed, or none will follow."""
        if self._h11 is None:
            if not self.rest:
                self.ended = self._closed
                return None
            if (found := self._next_plain()) is not None:
                return ReadRequest(found)
            if self._plain is not None and not self._closed:
                return None
            self._plain = None
            self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=self._max_head)
            given, self.rest = bytes(self.rest), bytearray()
            self._receive(self._h11, given)
            if self._closed:
                self._receive(self._h11, b"")
        return self._next_of(self._h11)

    def _next_plain(self) -> Head | None:
        if self._plain is None:
            self._plain = self._plain_head()
        if self._plain is None or len(self.rest) < self._plain[2]:
            return None
        head, start, end = self._plain
        self._plain = None
        if end > start:
            head = Head(head.method, head.target, head.headers, bytes(self.rest[start:end]))
        del self.rest[:end]
        return head

    def _plain_head(self) -> tuple[Head, int, int] | None:
        found = _PLAIN.match(self.rest)
        if found is None or found.end() > self._max_head:
            return None
        headers: list[tuple[str, str]] = []
        hosts, length = 0, ""
        for line in found[3].decode("ascii").split("\r\n")[:-1]:
            name, _, value = line.partition(":")
            value = value.strip(" \t")
            lower = name.lower()
            if lower in _WEIGHTY:
                return None
            if lower == "host":
                hosts += 1
            elif lower == "content-length":
                if length or not value.isdigit() or len(value) > _LONGEST_LENGTH:
                    return None
                length = value
            headers.append((name, value))
        size = int(length or 0)
        if hosts != 1 or size > self._max_body:
            return None
        head = Head(found[1].decode("ascii"), found[2].decode("ascii"), tuple(headers))
        return head, found.end(), found.end() + size

    def _receive(self, connection: h11.Connection, data: bytes) -> None:
        try:
            connection.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise _refused(error) from None

    def _next_of(self, connection: h11.Connection) -> ReadRequest | None:
        while True:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError as error:
                raise _refused(error) from None
            if isinstance(event, h11.Data):
                self._add(bytes(event.data))
            elif isinstance(event, h11.Request):
                self._request = event
            elif isinstance(event, h11.EndOfMessage):
                return self._whole(connection)
            else:
                self.ended = isinstance(event, h11.ConnectionClosed)
                return None

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._max_body:
            raise RequestRefused(413, f"the body of the request is longer than {self._max_body} bytes")
        self._pieces.append(data)

    def _whole(self, connection: h11.Connection) -> ReadRequest:
        request, body = self._request, b"".join(self._pieces)
        assert request is not None  # h11 returns a request before its end
        # What came after it belongs to the next request, or to the protocol that this one switches to.
        self.rest = bytearray(connection.trailing_data[0])
        self._h11, self._request, self._pieces, self._size = None, None, [], 0
        # raw_items keeps the case in which the client wrote the names, which a log shows.
        headers = tuple((name.decode("latin-1"), _text(value)) for name, value in request.headers.raw_items())
        head = Head(request.method.decode("ascii"), request.target.decode("latin-1"), headers, body)
        recent = request.http_version >= b"1.1"
        return ReadRequest(head, recent and not _says_close(headers), recent)


def _says_close(headers: Headers) -> bool:
    return any(
        part.strip().lower() == "close"
        for name, value in headers
        if name.lower() == "connection"
        for part in value.split(",")
    )


def _refused(error: h11.RemoteProtocolError) -> RequestRefused:
    # The rest of h11's message quotes the bytes, which may contain a token.
    what = str(error).partition(":")[0]
    return RequestRefused(error.error_status_hint, f"this is not an HTTP/1.1 request: {what}")


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
