"""`ServerConnection`: the server's side of one HTTP/1.1 connection, as bytes in and bytes out.

h11 has the rules of the protocol; this machine adds limits, whole requests and what a refusal looks like::

    idle ──feed──> `next_request` gives a Head ──┬─ respond ────────────────> idle, or `closing`
      │                                          ├─ start ── send … finish ──> idle, or `closing`
      │                                          └─ switch ──> another protocol; `rest` belongs to it
      └── what is not a request ──> `RequestRefused`; `refuse` gives the bytes to send, then close

A request is given whole: its body has been read up to `max_body`. Requests that were sent without waiting
(pipelining) are given one after the other, each once the one before it was answered.
"""

from __future__ import annotations

from typing import Final

import h11

from kubeproto import LocalProtocolError, RemoteProtocolError
from kubeproto.wire import Head, Headers

from ._exchange import MAX_HEAD

# Kubernetes accepts 3 MiB; the request that is too long should still be answered in Kubernetes' own words.
MAX_BODY: Final = 4 * 1024 * 1024

_NO_BODY: Final = frozenset((204, 304))
# Readers go by the number; the words are for people who look at the bytes.
_REASONS: Final = {
    200: b"OK", 201: b"Created", 202: b"Accepted", 204: b"No Content", 304: b"Not Modified",
    400: b"Bad Request", 401: b"Unauthorized", 403: b"Forbidden", 404: b"Not Found",
    405: b"Method Not Allowed", 406: b"Not Acceptable", 409: b"Conflict", 410: b"Gone",
    413: b"Request Entity Too Large", 415: b"Unsupported Media Type", 422: b"Unprocessable Entity",
    429: b"Too Many Requests", 431: b"Request Header Fields Too Large", 500: b"Internal Server Error",
    503: b"Service Unavailable", 504: b"Gateway Timeout",
}  # fmt: skip


class RequestRefused(RemoteProtocolError):
    """What came is not a request that this server reads: `status` is the one to answer with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ServerConnection:
    """One connection of a server: feed what came, answer each request, send what the methods return."""

    def __init__(self, *, max_head: int = MAX_HEAD, max_body: int = MAX_BODY) -> None:
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=max_head)
        self._max_body = max_body
        self._request: h11.Request | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._bodiless = False  # the response that is being sent has no body, whatever is given

    @property
    def outgoing(self) -> bytes:
        """`100 Continue` if the client waits for that before it sends its body; else nothing."""
        if not self._h11.they_are_waiting_for_100_continue:
            return b""
        return self._h11.send(h11.InformationalResponse(status_code=100, headers=[])) or b""

    @property
    def closing(self) -> bool:
        """True if no further request can come on this connection."""
        return self._h11.our_state in (h11.MUST_CLOSE, h11.CLOSED, h11.ERROR) or self._h11.their_state in (
            h11.CLOSED,
            h11.ERROR,
        )

    @property
    def rest(self) -> bytes:
        """What came after the request: of the protocol that the connection has switched to."""
        return self._h11.trailing_data[0]

    def feed(self, data: bytes) -> None:
        """Take what came from the client; empty when it has closed its side."""
        try:
            self._h11.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise _refused(error) from None

    def next_request(self) -> Head | None:
        """Return the next request once it is whole; None if more bytes are needed, or none will come."""
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise _refused(error) from None
            if isinstance(event, h11.Data):
                self._add(bytes(event.data))
            elif isinstance(event, h11.Request):
                self._request = event
            elif isinstance(event, h11.EndOfMessage):
                return self._whole()
            else:
                return None  # more bytes are needed, the client has closed, or an answer comes first

    def respond(self, status: int, headers: Headers, body: bytes = b"") -> bytes:
        """Return the bytes of a whole response. Its length is declared if `headers` do not do so."""
        if status not in _NO_BODY and not _has(headers, "content-length"):
            headers = (*headers, ("Content-Length", str(len(body))))
        return self.start(status, headers) + self.send(body) + self.finish()

    def start(self, status: int, headers: Headers) -> bytes:
        """Return the head of a response whose body follows in pieces; without a length it is chunked."""
        self._bodiless = status in _NO_BODY or (self._request is not None and self._request.method == b"HEAD")
        fields = [(name.encode("latin-1"), value.encode()) for name, value in headers]
        response = h11.Response(status_code=status, headers=fields, reason=_REASONS.get(status, b""))
        return self._sent(response)

    def send(self, piece: bytes) -> bytes:
        """Return the bytes that carry a piece of the body."""
        return self._sent(h11.Data(data=piece)) if piece and not self._bodiless else b""

    def finish(self) -> bytes:
        """Return the bytes that end the response, and be ready for the next request if there can be one."""
        ended = self._sent(h11.EndOfMessage())
        self._request = None
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
        return ended

    def switch(self, headers: Headers) -> bytes:
        """Return the head of a 101: what follows on the connection is another protocol's."""
        fields = [(name.encode("latin-1"), value.encode()) for name, value in headers]
        return self._sent(h11.InformationalResponse(status_code=101, headers=fields))

    def refuse(self, refused: RequestRefused) -> bytes:
        """Return the bytes that answer what was not a request; nothing else can be sent after them."""
        if self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return b""  # a response has begun, and cannot be taken back
        headers = (("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close"))
        return self.respond(refused.status, headers, f"{refused}\n".encode())

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._max_body:
            raise RequestRefused(413, f"the body of the request is longer than {self._max_body} bytes")
        self._pieces.append(data)

    def _whole(self) -> Head:
        request, body = self._request, b"".join(self._pieces)
        assert request is not None  # h11 gives a request before its end
        self._pieces, self._size = [], 0
        # raw_items keeps the case in which the client wrote the names, which a log shows.
        headers = tuple((name.decode("latin-1"), _text(value)) for name, value in request.headers.raw_items())
        return Head(request.method.decode("ascii"), request.target.decode("latin-1"), headers, body)

    def _sent(self, event: h11.Event) -> bytes:
        try:
            return self._h11.send(event) or b""
        except h11.LocalProtocolError as error:
            raise LocalProtocolError(f"the response cannot be sent now: {error}") from None


def _refused(error: h11.RemoteProtocolError) -> RequestRefused:
    # The rest of h11's sentence quotes what came, and there may be a token in it.
    what = str(error).partition(":")[0]
    return RequestRefused(error.error_status_hint, f"this is not an HTTP/1.1 request: {what}")


def _has(headers: Headers, name: str) -> bool:
    return any(key.lower() in (name, "transfer-encoding") for key, _ in headers)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
