"""`ServerConnection`: the server's side of one HTTP/1.1 connection, as bytes in and bytes out.

`RequestReader` reads, by h11's rules; this machine keeps requests and responses in order, and writes the
responses::

    idle ──feed──> `next_request` gives a Head ──┬─ respond ────────────────> idle, or `closing`
      │                                          ├─ start ── send … finish ──> idle, or `closing`
      │                                          └─ switch ──> another protocol; `rest` belongs to it
      └── what is not a request ──> `RequestRefused`; `refuse` gives the bytes to send, then close

A request is given whole: its body has been read up to `max_body`. Pipelined requests are returned one after
the other, each after the response to the previous one. A response is written here, and not by h11, because
only the server writes it: what h11 would check is checked once.
"""

from __future__ import annotations

from typing import Final

from kubeproto import LocalProtocolError
from kubeproto.wire import Head, Headers, phrase_of

from ._exchange import MAX_HEAD
from ._request_reader import ReadRequest, RequestReader, RequestRefused

# Kubernetes accepts 3 MiB; a request that is too long should still get Kubernetes' own message.
MAX_BODY: Final = 4 * 1024 * 1024

_NO_BODY: Final = frozenset((204, 304))
_CHUNKED: Final = -1  # the length of a body that comes in chunks
_TO_THE_END: Final = -2  # of one that ends with the connection, for a client of HTTP/1.0


class ServerConnection:
    """One connection of a server: feed bytes, respond to each request, send what the methods return."""

    def __init__(self, *, max_head: int = MAX_HEAD, max_body: int = MAX_BODY) -> None:
        self._reader = RequestReader(max_head=max_head, max_body=max_body)
        self._request: ReadRequest | None = None  # waits for its response
        self._begun = False  # its response has begun
        self._left = 0  # bytes that the declared body still lacks
        self._bodiless = False  # the response that is being sent has no body, whatever is given
        self._last = False  # no request can come after this one

    @property
    def outgoing(self) -> bytes:
        """`100 Continue` if the client waits for that before it sends its body; else nothing."""
        return self._reader.outgoing

    @property
    def closing(self) -> bool:
        """True if no further request can come on this connection."""
        return self._request is None and (self._last or self._reader.ended)

    @property
    def rest(self) -> bytes:
        """What came after the request: of the protocol that the connection has switched to."""
        return bytes(self._reader.rest)

    def feed(self, data: bytes) -> None:
        """Take bytes of the client; empty when it has closed its side."""
        self._reader.feed(data)

    def next_request(self) -> Head | None:
        """Return the next request once it is whole; None if more bytes are needed, or none will follow."""
        if self._request is not None or self._last:
            return None  # a response comes first
        self._request = self._reader.next()
        return None if self._request is None else self._request.head

    def respond(self, status: int, headers: Headers, body: bytes = b"") -> bytes:
        """Return the bytes of a whole response. Its length is declared if `headers` do not do so."""
        return self._respond(self._awaited(), status, headers, body)

    def start(self, status: int, headers: Headers) -> bytes:
        """Return the head of a response whose body follows in pieces; without a length it is chunked."""
        return self._start(self._awaited(), status, headers, None)

    def send(self, piece: bytes) -> bytes:
        """Return the bytes that carry a piece of the body."""
        if not self._begun:
            raise LocalProtocolError("a piece of a body cannot be sent: its response has not been started")
        if not piece or self._bodiless:
            return b""
        if self._left == _CHUNKED:
            return b"%x\r\n%b\r\n" % (len(piece), piece)
        if self._left != _TO_THE_END:
            self._left -= len(piece)
            if self._left < 0:
                raise LocalProtocolError("the body of the response is longer than its Content-Length")
        return piece

    def finish(self) -> bytes:
        """Return the bytes that end the response, and be ready for the next request if there can be one."""
        if not self._begun:
            raise LocalProtocolError("a response cannot be finished: it has not been started")
        if self._left > 0 and not self._bodiless:
            raise LocalProtocolError(f"the response cannot be finished: {self._left} bytes of its body miss")
        ended = b"0\r\n\r\n" if self._left == _CHUNKED and not self._bodiless else b""
        self._request, self._begun = None, False
        return ended

    def switch(self, headers: Headers) -> bytes:
        """Return the head of a 101: what follows on the connection is another protocol's."""
        self._awaited()
        self._request, self._last = None, True
        return _head(101, headers)

    def refuse(self, refused: RequestRefused) -> bytes:
        """Return the response to bytes that are not a request; nothing else can be sent after it."""
        if self._begun:
            return b""  # a response has begun, and cannot be taken back
        self._last = True
        unread = ReadRequest(Head("GET", "/"), stays=False)
        headers = (("Content-Type", "text/plain; charset=utf-8"),)
        return self._respond(unread, refused.status, headers, f"{refused}\n".encode())

    def _awaited(self) -> ReadRequest:
        if self._request is None or self._begun:
            raise LocalProtocolError(
                "a response cannot be sent now: "
                + ("one has been started" if self._begun else "there is no request to respond to")
            )
        return self._request

    def _respond(self, request: ReadRequest, status: int, headers: Headers, body: bytes) -> bytes:
        head = self._start(request, status, headers, len(body))
        sent = self.send(body)
        return head + sent + self.finish()

    def _start(self, request: ReadRequest, status: int, headers: Headers, length: int | None) -> bytes:
        """`length` is that of the body, where it is known and the headers may leave it out."""
        fields: list[tuple[str, str]] = []
        declared: int | None = None
        stays = request.stays
        for field in headers:
            name = field[0].lower()
            if name == "transfer-encoding":
                continue  # written below, if the body is chunked
            if name == "content-length":
                declared = int(field[1])
            elif name == "connection":
                stays = stays and "close" not in field[1].lower()
                continue
            fields.append(field)
        empty = status in _NO_BODY
        if declared is None and length is not None and not empty:
            declared = length
            fields.append(("Content-Length", str(length)))
        if declared is not None or empty:
            self._left = declared or 0
        elif request.chunks:
            self._left = _CHUNKED
            fields.append(("Transfer-Encoding", "chunked"))
        else:
            self._left, stays = _TO_THE_END, False
        if not stays:
            fields.append(("Connection", "close"))
        head = _head(status, fields)
        self._begun, self._last = True, self._last or not stays
        self._bodiless = empty or request.head.method == "HEAD"
        return head


def _head(status: int, headers: Headers | list[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {phrase_of(status)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    head = "\r\n".join(lines).encode()
    ends = len(headers)
    if head.count(b"\r") != ends or head.count(b"\n") != ends or b"\0" in head:
        # A client that chooses part of a header must not be able to write a response of its own.
        raise LocalProtocolError("a header of the response holds a line break or a NUL")
    return head + b"\r\n\r\n"
