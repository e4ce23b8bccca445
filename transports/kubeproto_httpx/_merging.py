"""`Merging`: the many short chunks of an answer as few and long ones, before httpx sees them.

A server writes one chunk an event, and on each one httpx spends more time than anyone on the event: h11 reads
it, and four async generators hand it on. So the bytes of a connection are looked at on their way::

    silent ──GET──> head ──chunked──> body ──its end──> silent
                     └──anything else──> silent: from here on nothing is touched

What is said stays the same, and h11 still judges it all but the sizes of chunks; those are read by
`kubeproto.wire`, as everywhere in this project. Only a GET is looked at: no body of a request can be mixed up
with the next one.
"""

from __future__ import annotations

import re
from typing import Final

from kubeproto import RemoteProtocolError
from kubeproto.wire import ChunkedBody

# A head that is longer goes by untouched; h11 refuses it later.
_MAX_HEAD: Final = 64 * 1024

_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)
_INTERIM: Final = re.compile(rb"HTTP/1\.1 1(?!01)")
_ANSWER: Final = re.compile(rb"HTTP/1\.1 [2-5]")


class Merging:
    """What one connection says to httpx. Tell it what is `sent`, and hand on what it makes of what came."""

    def __init__(self) -> None:
        self.problem = ""  # what is wrong with the chunks: nothing can follow
        self._head: bytes | None = None
        self._body: ChunkedBody | None = None

    def sent(self, data: bytes) -> None:
        """A request, or a part of one, goes out."""
        self._body = None
        self._head = b"" if data.startswith(b"GET ") and data.endswith(b"\r\n\r\n") else None

    def came(self, data: bytes) -> bytes:
        """What to hand on of this; if nothing, more must be awaited, or there is a `problem`."""
        if self._body is not None:
            return self._merged(self._body, data)
        if self._head is None:
            return data
        self._head += data
        while self._head is not None and (end := self._head.find(b"\r\n\r\n")) >= 0:
            head, rest = self._head[: end + 4], self._head[end + 4 :]
            if _INTERIM.match(head):
                self._head = rest
            elif _is_chunked(head):
                self._head, self._body = None, ChunkedBody()
                # What came before this was a part of the head, and went by.
                return data[: len(data) - len(rest)] + self._merged(self._body, rest)
            else:
                self._head = None
        if self._head is not None and len(self._head) > _MAX_HEAD:
            self._head = None
        return data

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
