"""`Exchange`: one request and its response on an HTTP/1.1 connection, as bytes in and bytes out.

h11 writes the request and reads the head of the response, with all its rules. `kubeproto.wire` reads the
body, in bulk. Each exchange has an h11 connection of its own, because h11 cannot skip a body that was read
elsewhere; only the socket is used for several exchanges::

    created ──feed──> head expected ──feed──> body expected ──feed──> finished ──> `reusable`, or not
                           │ 100, 103: skipped                 │
                           └── 101, or 2xx to CONNECT ─────────┴──> finished; `trailing_data` belongs to
                                                                    another protocol
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import h11
from msgspec import Struct

from kubeproto import LocalProtocolError, RemoteProtocolError, TransportError
from kubeproto.config import Connection
from kubeproto.wire import Body, ConcealedBytes, Headers, RawRequest, SizedBody, open_body

# A server may send many warnings of about 1 KiB, and proxies add cookies. Node allows 80 KiB, Go 10 MiB.
MAX_HEAD: Final = 64 * 1024

# A server that sends more interim responses than this never responds. Go's limit is 5.
_MAX_INTERIM: Final = 8

# Hop-by-hop headers and lengths are decided here, because they depend on the connection.
_RESERVED: Final = frozenset(("host", "content-length", "transfer-encoding", "connection", "keep-alive"))
_RESERVED_IN_UPGRADE: Final = _RESERVED - {"connection"}


def prepare_request(request: RawRequest, connection: Connection) -> RawRequest:
    """Return the request with the server's base path, Host, and the headers of every request."""
    target = connection.target(
        request.target
    )  # it may refuse the target, before a local variable has a token
    upgrade = any(name.lower() == "upgrade" for name, _ in request.headers)
    reserved = _RESERVED_IN_UPGRADE if upgrade else _RESERVED
    fields = [(name, value) for name, value in request.headers if name.lower() not in reserved]
    if not connection.compression:
        fields = [
            (name, "identity" if name.lower() == "accept-encoding" else value) for name, value in fields
        ]
    names = {name.lower() for name, _ in fields}
    defaults = [(name, value) for name, value in connection.headers if name.lower() not in names | reserved]
    proxy = connection.proxy_headers if connection.forwarded else ()
    headers = (("Host", connection.host_header), *fields, *defaults, *proxy)
    return RawRequest(request.method, target, headers, request.body, request.check)


def request_name(request: RawRequest) -> str:
    """Return the method and the path, for errors; without the query, which may contain secrets."""
    return f"{request.method} {request.target.partition('?')[0][:200]}"


class ResponseHead(Struct, frozen=True):
    """The head of a response."""

    status: int
    headers: Headers


class Exchange:
    """Send `outgoing`, feed the received bytes. `response` is set with the head; `feed` returns the body.

    A violation by the server is a `RemoteProtocolError`, an incomplete response a `TransportError`.
    """

    def __init__(self, request: RawRequest, *, max_head: int = MAX_HEAD) -> None:
        self.response: ResponseHead | None = None
        self.response_started = False  # a byte of a response has arrived
        self.has_body = bool(request.body)
        self._method = request.method
        self._body: Body | None = None
        self._persistent = False
        self._interim_count = 0
        self._max_head = max_head
        self._head_size = 0  # bytes since the end of the previous head
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=max_head)
        outgoing = self._encode_request(request)
        if outgoing is None:
            # Raised where no local variable has a header, and outside a handler: h11's errors quote the
            # value.
            raise LocalProtocolError(
                "the method, the target or a header contains a character that HTTP/1.1 cannot carry"
            )
        self.outgoing: bytes = ConcealedBytes(outgoing)

    @property
    def finished(self) -> bool:
        """True when the complete response has been fed."""
        return self._body is not None and self._body.finished

    @property
    def trailing_data(self) -> bytes:
        """The bytes after the response: those of the next protocol after a switch, otherwise a violation."""
        return self._body.trailing_data if self._body is not None else b""

    @property
    def reusable(self) -> bool:
        """True if the connection can carry another exchange."""
        return self._persistent and self.finished and not self.trailing_data

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the server; return those of the body."""
        if self._body is not None:
            return self._body.feed(data)
        if not data:
            return b""
        self.response_started = True
        self._head_size += len(data)
        try:
            self._h11.receive_data(data)
            return self._read_head()
        except h11.RemoteProtocolError as error:
            # After the colon h11's message quotes the response, which may contain a secret.
            problem = str(error).partition(":")[0]
        raise RemoteProtocolError(f"the response is not HTTP/1.1: {problem}")

    def close(self) -> None:
        """Report that the server closed the connection; valid only for a body that ends with it."""
        self._persistent = False
        if self._body is not None:
            self._body.close()
        elif self.response_started:
            raise TransportError(
                "the server closed the connection before the head of the response was complete"
            )
        else:
            raise TransportError("the server closed the connection and sent no response")

    def _encode_request(self, request: RawRequest) -> bytes | None:
        """Return the request as bytes; None if HTTP/1.1 cannot carry it."""
        fields = list(request.headers)
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            fields.append(("Content-Length", str(len(request.body))))
        with suppress(h11.LocalProtocolError, UnicodeEncodeError):
            headers = [(name.encode("ascii"), value.encode()) for name, value in fields]
            h11_request = h11.Request(method=request.method, target=request.target, headers=headers)
            head_bytes = self._h11.send(h11_request)
            body = self._h11.send(h11.Data(data=request.body)) if request.body else b""
            self._h11.send(h11.EndOfMessage())
            return (head_bytes or b"") + (body or b"")
        return None

    def _read_head(self) -> bytes:
        """Read heads until that of the final response; return the bytes of the body after it."""
        while True:
            event = self._h11.next_event()
            if not isinstance(event, h11.Response | h11.InformationalResponse):
                return b""
            # h11 limits a head only while it is incomplete, so it accepts a head of any length that arrives
            # in a single chunk.
            unread_size = len(self._h11.trailing_data[0])
            if self._head_size - unread_size > self._max_head:
                raise RemoteProtocolError(f"the head of the response is longer than {self._max_head} bytes")
            self._head_size = unread_size
            if isinstance(event, h11.Response):
                break
            if event.status_code == 101:
                break
            self._interim_count += 1
            if self._interim_count > _MAX_INTERIM:
                raise RemoteProtocolError(
                    f"the server sent {self._interim_count} interim responses and no final one"
                )
        headers = tuple(
            (decode_header(name), decode_header(value)) for name, value in event.headers.raw_items()
        )
        body_bytes = self._h11.trailing_data[0]
        if self._h11.their_state is h11.SWITCHED_PROTOCOL:
            self._body = SizedBody(0)
        else:
            self._body = open_body(self._method, event.status_code, headers)
            self._persistent = _is_persistent(event)
        self.response = ResponseHead(event.status_code, headers)
        return self._body.feed(body_bytes) if body_bytes else b""


def decode_header(value: bytes) -> str:
    """Return a header as text: by the standard Latin-1, but Go writes UTF-8, also in warnings of webhooks."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _is_persistent(event: h11.Response | h11.InformationalResponse) -> bool:
    """Return whether the connection stays open: in HTTP/1.1 unless a header closes it, never in HTTP/1.0."""
    values = [value.lower() for name, value in event.headers if name == b"connection"]
    options = {option.strip() for value in values for option in value.split(b",")}
    return event.http_version >= b"1.1" and b"close" not in options
