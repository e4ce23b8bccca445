"""`Exchange`: one request and its response on an HTTP/1.1 connection, as bytes in and bytes out.

h11 writes the request and reads the head of the response, with all its rules; the body is read in bulk by
`kubeproto.wire`. Each exchange has its own h11 machine, because h11 cannot be told that its body was read
elsewhere; only the connection lives longer than an exchange::

    made ──feed──> head awaited ──feed──> body awaited ──feed──> finished ──> `reusable`, or not
                        │ 100, 103: heard and dropped    │
                        └── 101, or 2xx to CONNECT ──────┴──> finished, and `rest` belongs to another protocol
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import h11
from msgspec import Struct

from kubeproto import LocalProtocolError, RemoteProtocolError, TransportError
from kubeproto.wire import Body, Concealed, Head, Headers, SizedBody, open_body

# A server may send many warnings of 1 KiB or so, and proxies add cookies. Node allows 80 KiB, Go 10 MiB.
MAX_HEAD: Final = 64 * 1024

# A server that sends more interim responses than this never responds. Go's limit is 5.
_MAX_INTERIM: Final = 8


class ResponseHead(Struct, frozen=True):
    """The head of a response."""

    status: int
    headers: Headers


class Exchange:
    """Write `outgoing`, feed what comes back. `response` is set with the head; `feed` returns the body.

    A violation by the server is a `RemoteProtocolError`, a response cut short a `TransportError`.
    """

    def __init__(self, head: Head, *, max_head: int = MAX_HEAD) -> None:
        self.response: ResponseHead | None = None
        self.touched = False  # a byte of a response has arrived
        self.has_body = bool(head.body)
        self._method = head.method
        self._body: Body | None = None
        self._stays = False
        self._interim = 0
        self._max_head = max_head
        self._fed = 0  # bytes since the last head ended
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=max_head)
        outgoing = self._written(head)
        if outgoing is None:
            # Here, where no variable holds a header, and outside a handler: h11's errors quote the value.
            raise LocalProtocolError(
                "the method, the target or a header holds a character that HTTP/1.1 cannot carry"
            )
        self.outgoing: bytes = Concealed(outgoing)

    @property
    def finished(self) -> bool:
        """True when the whole response has been fed."""
        return self._body is not None and self._body.finished

    @property
    def rest(self) -> bytes:
        """The bytes after the end: those of the next protocol after a switch; otherwise a violation."""
        return self._body.trailing_data if self._body is not None else b""

    @property
    def reusable(self) -> bool:
        """True if the connection can carry another exchange."""
        return self._stays and self.finished and not self.rest

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the server; return those of the body."""
        if self._body is not None:
            return self._body.feed(data)
        if not data:
            return b""
        self.touched = True
        self._fed += len(data)
        try:
            self._h11.receive_data(data)
            return self._read_head()
        except h11.RemoteProtocolError as error:
            # The rest of the message quotes the response, which may contain a secret.
            said = str(error).partition(":")[0]
        raise RemoteProtocolError(f"the response is not HTTP/1.1: {said}")

    def close(self) -> None:
        """The server has ended the connection; right only for a body that lasts until then."""
        self._stays = False
        if self._body is not None:
            self._body.close()
        elif self.touched:
            raise TransportError("the connection ended inside the head of the response")
        else:
            raise TransportError("the server closed the connection and sent no response")

    def _written(self, head: Head) -> bytes | None:
        """Return the request as bytes; None if HTTP/1.1 cannot carry it."""
        fields = list(head.headers)
        if head.body or head.method in ("POST", "PUT", "PATCH"):
            fields.append(("Content-Length", str(len(head.body))))
        with suppress(h11.LocalProtocolError, UnicodeEncodeError):
            headers = [(name.encode("ascii"), value.encode()) for name, value in fields]
            request = h11.Request(method=head.method, target=head.target, headers=headers)
            first = self._h11.send(request)
            body = self._h11.send(h11.Data(data=head.body)) if head.body else b""
            self._h11.send(h11.EndOfMessage())
            return (first or b"") + (body or b"")
        return None

    def _read_head(self) -> bytes:
        while True:
            event = self._h11.next_event()
            if not isinstance(event, h11.Response | h11.InformationalResponse):
                return b""
            # h11 bounds a head only while it is incomplete, so one that arrived at once would be accepted.
            left = len(self._h11.trailing_data[0])
            if self._fed - left > self._max_head:
                raise RemoteProtocolError(f"the head of the response is longer than {self._max_head} bytes")
            self._fed = left
            if isinstance(event, h11.Response):
                break
            if event.status_code == 101:
                break
            self._interim += 1
            if self._interim > _MAX_INTERIM:
                raise RemoteProtocolError(f"{self._interim} interim responses, and no final one")
        headers = _headers(event)
        rest = self._h11.trailing_data[0]
        if self._h11.their_state is h11.SWITCHED_PROTOCOL:
            self._body = SizedBody(0)
        else:
            self._body = open_body(self._method, event.status_code, headers)
            self._stays = _stays(event)
        self.response = ResponseHead(event.status_code, headers)
        return self._body.feed(rest) if rest else b""


def _headers(event: h11.Response | h11.InformationalResponse) -> Headers:
    return tuple((_text(name), _text(value)) for name, value in event.headers.raw_items())


def _text(value: bytes) -> str:
    # Officially Latin-1; Go writes UTF-8, and so do warnings from webhooks.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _stays(event: h11.Response | h11.InformationalResponse) -> bool:
    """HTTP/1.1 keeps a connection unless a header says otherwise; one with HTTP/1.0 is not reused."""
    told = [value.lower() for name, value in event.headers if name == b"connection"]
    words = {word.strip() for value in told for word in value.split(b",")}
    return event.http_version >= b"1.1" and b"close" not in words
