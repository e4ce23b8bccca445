"""`ChunkMerger`: the many short chunks of a response as few and long ones, before httpx sees them.

A server writes a chunk for each event, and httpx spends more time on a chunk than all other code on the
event: h11 reads it, and four async generators pass it on. So the bytes of a connection are inspected before
that::

    silent ──a request──> head ──chunked, of a GET──> body ──its end──> silent
                          │  └──any other──> silent: all further bytes pass unchanged
                          └──too long, or too many interim responses──> `problem`

The meaning stays the same, and h11 still checks everything but the sizes of chunks; `kubeproto.wire` reads
these, as everywhere in this project. Bodies are merged only for a GET: it has no body that could be mistaken
for the next request. Heads are limited here because h11 limits them only while they are incomplete, and
httpcore skips interim responses without a limit.
"""

from __future__ import annotations

import re
from typing import Final

from kubeproto import RemoteProtocolError
from kubeproto.wire import ChunkedBody

# The limits of `kubeproto_h11`, for each head, however it is split.
_MAX_HEAD: Final = 64 * 1024
_MAX_INTERIM: Final = 8

# h11 accepts a bare newline as a line end, as Go does, and so must the search for the end of a head.
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_CHUNKED: Final = re.compile(rb"\ntransfer-encoding:[ \t]*chunked[ \t]*\r?\n", re.IGNORECASE)
_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1(?!01)")
_FINAL: Final = re.compile(rb"HTTP/1\.1 [2-5]")


class ChunkMerger:
    """Pass it the bytes that are sent, and pass on the bytes that `receive` returns."""

    def __init__(self) -> None:
        self.problem = ""  # the defect of the head or the chunks, after which nothing can follow
        self._head: bytearray | None = None
        self._interim_count = 0
        self._merges = False
        self._body: ChunkedBody | None = None

    def send(self, data: bytes) -> None:
        """Record that a request, or a part of it, is sent."""
        self._body = None
        self._head, self._interim_count = bytearray(), 0
        self._merges = data.startswith(b"GET ") and data.endswith(b"\r\n\r\n")

    def receive(self, data: bytes) -> bytes:
        """Return the bytes to pass on; if empty, read more, unless there is a `problem`."""
        if self._body is not None:
            return self._merge(self._body, data)
        if self._head is None:
            return data
        # The end of the head may begin in the last two bytes that were searched before.
        search_start = max(0, len(self._head) - 2)
        self._head += data
        while self._head is not None and (end := _HEAD_END.search(self._head, search_start)) is not None:
            head, remainder = bytes(self._head[: end.end()]), bytes(self._head[end.end() :])
            search_start = 0
            if self._is_too_long(head):
                return b""
            if _INTERIM.match(head):
                self._interim_count += 1
                if self._interim_count > _MAX_INTERIM:
                    self.problem = f"the server sent {self._interim_count} interim responses and no final one"
                    return b""
                self._head = bytearray(remainder)
            elif self._merges and _is_chunked(head):
                self._head, self._body = None, ChunkedBody()
                # The earlier bytes of the head were passed on by earlier calls.
                return data[: len(data) - len(remainder)] + self._merge(self._body, remainder)
            else:
                self._head = None
        if self._head is not None and self._is_too_long(self._head):
            return b""
        return data

    def _is_too_long(self, head: bytes | bytearray) -> bool:
        if len(head) > _MAX_HEAD:
            self.problem = f"the head of the response is longer than {_MAX_HEAD} bytes"
        return bool(self.problem)

    def _merge(self, body: ChunkedBody, data: bytes) -> bytes:
        try:
            content = body.feed(data) if data else b""
        except RemoteProtocolError as error:
            self.problem = str(error)
            return b""
        chunk = b"%x\r\n%b\r\n" % (len(content), content) if content else b""
        if not body.finished:
            return chunk
        self._body = None
        return chunk + b"0\r\n\r\n" + body.trailing_data


def _is_chunked(head: bytes) -> bool:
    # h11 refuses a head that contradicts itself, and reads nothing after a head that forbids a body.
    return bool(_FINAL.match(head) and _CHUNKED.search(head))
