"""`Merging`: the many short chunks of a response as few and long ones, before httpx sees them.

A server writes one chunk an event, and on each one httpx spends more time than anyone on the event: h11 reads
it, and four async generators hand it on. So the bytes of a connection are looked at on their way::

    silent ──a request──> head ──chunked, of a GET──> body ──its end──> silent
                          │  └──anything else──> silent: from here on nothing is touched
                          └──too long, or interim responses without end──> `problem`

What is said stays the same, and h11 still judges it all but the sizes of chunks; those are read by
`kubeproto.wire`, as everywhere in this project. Bodies are merged for a GET alone: no body of a request can
be mixed up with the next one. Heads are bounded here because h11 bounds them only while they are incomplete,
and httpcore passes over interim responses for as long as they come.
"""

from __future__ import annotations

import re
from typing import Final

from kubeproto import RemoteProtocolError
from kubeproto.wire import ChunkedBody

# The limits of `kubeproto_h11`, for each head, however it is cut.
_MAX_HEAD: Final = 64 * 1024
_MAX_INTERIM: Final = 8

# h11 takes a bare newline for a line end, as Go does, and so must the code that finds the end of a head.
_END: Final = re.compile(rb"\n\r?\n")
_CHUNKED: Final = re.compile(rb"\ntransfer-encoding:[ \t]*chunked[ \t]*\r?\n", re.IGNORECASE)
_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1(?!01)")
_ANSWER: Final = re.compile(rb"HTTP/1\.1 [2-5]")


class Merging:
    """What one connection says to httpx. Tell it what is `sent`, and hand on what it makes of what came."""

    def __init__(self) -> None:
        self.problem = ""  # what is wrong with the head or the chunks: nothing can follow
        self._head: bytearray | None = None
        self._interim = 0
        self._merges = False
        self._body: ChunkedBody | None = None

    def sent(self, data: bytes) -> None:
        """A request, or a part of one, goes out."""
        self._body = None
        self._head, self._interim = bytearray(), 0
        self._merges = data.startswith(b"GET ") and data.endswith(b"\r\n\r\n")

    def came(self, data: bytes) -> bytes:
        """What to hand on of this; if nothing, more must be awaited, or there is a `problem`."""
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
                # What came before this was a part of the head, and went by.
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
        return chunk + b"0\r\n\r\n" + body.rest


def _is_chunked(head: bytes) -> bool:
    # A head that contradicts itself is h11's to refuse, and after one that forbids a body nobody reads on.
    return bool(_ANSWER.match(head) and _CHUNKED.search(head))
