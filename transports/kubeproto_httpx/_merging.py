"""`Merging`: the many short chunks of a response as few and long ones, before httpx sees them.

A server writes one chunk for each event, and httpx spends more time on it than all other code on the event:
h11 reads it, and four async generators pass it on. So the bytes of a connection are inspected before that::

    silent ──a request──> head ──chunked, of a GET──> body ──its end──> silent
                          │  └──anything else──> silent: from here on nothing is touched
                          └──too long, or interim responses without end──> `problem`

The meaning stays the same, and h11 still checks everything but the sizes of chunks; those are read by
`kubeproto.wire`, as everywhere in this project. Bodies are merged only for a GET: no body of a request can
be mixed up with the next one. Heads are bounded here because h11 bounds them only while they are incomplete,
and httpcore skips interim responses without a limit.
"""

from __future__ import annotations

import re
from typing import Final

from kubeproto import RemoteProtocolError
from kubeproto.wire import ChunkedBody

# The limits of `kubeproto_h11`, for each head, however it is cut.
_MAX_HEAD: Final = 64 * 1024
_MAX_INTERIM: Final = 8

# h11 accepts a bare newline as a line end, as Go does, and so must the code that finds the end of a head.
_END: Final = re.compile(rb"\n\r?\n")
_CHUNKED: Final = re.compile(rb"\ntransfer-encoding:[ \t]*chunked[ \t]*\r?\n", re.IGNORECASE)
_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1(?!01)")
_ANSWER: Final = re.compile(rb"HTTP/1\.1 [2-5]")


class Merging:
    """What one connection says to httpx. Pass it what is `sent`, and pass on what `came` returns."""

    def __init__(self) -> None:
        self.problem = ""  # what is wrong with the head or the chunks: nothing can follow
        self._head: bytearray | None = None
        self._interim = 0
        self._merges = False
        self._body: ChunkedBody | None = None

    def sent(self, data: bytes) -> None:
        """Note that a request, or a part of one, is sent."""
        self._body = None
        self._head, self._interim = bytearray(), 0
        self._merges = data.startswith(b"GET ") and data.endswith(b"\r\n\r\n")

    def came(self, data: bytes) -> bytes:
        """Return what to pass on of received bytes; if nothing, read more, unless there is a `problem`."""
        if self._body is not None:
            return self._merged(self._body, data)
        if self._head is None:
            return data
        # The end may have begun in what came before, and need not be looked for there again.
        looked = max(0, len(self._head) - 2)
        self._head += data
        while self._head is not None and (end := _END.search(self._head, looked)) is not None:
            head, rest = bytes(self._head[: end.end()]), bytes(self._head[end.end() :])
            looked = 0
            if self._is_too_long(head):
                return b""
            if _INTERIM.match(head):
                self._interim += 1
                if self._interim > _MAX_INTERIM:
                    self.problem = f"{self._interim} interim responses came, and no other"
                    return b""
                self._head = bytearray(rest)
            elif self._merges and _is_chunked(head):
                self._head, self._body = None, ChunkedBody()
                # The bytes before this were a part of the head, and were passed on.
                return data[: len(data) - len(rest)] + self._merged(self._body, rest)
            else:
                self._head = None
        if self._head is not None and self._is_too_long(self._head):
            return b""
        return data

    def _is_too_long(self, head: bytes | bytearray) -> bool:
        if len(head) > _MAX_HEAD:
            self.problem = f"the head of the response is longer than {_MAX_HEAD} bytes"
        return bool(self.problem)

    def _merged(self, body: ChunkedBody, data: bytes) -> bytes:
        try:
            piece = body.feed(data) if data else b""
        except RemoteProtocolError as error:
            self.problem = str(error)
            return b""
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
        if not body.finished:
            return chunk
        self._body = None
        return chunk + b"0\r\n\r\n" + body.trailing_data


def _is_chunked(head: bytes) -> bool:
    # h11 refuses a head that contradicts itself, and after one that forbids a body nothing more is read.
    return bool(_ANSWER.match(head) and _CHUNKED.search(head))
