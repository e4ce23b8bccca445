"""The body of an HTTP/1.1 response, cut out of the bytes of its connection in few and large pieces.

A server writes one chunk for each event, and a read of a busy socket returns a hundred of them. `feed` takes
all that was read and returns the body in it as one piece; how the bytes are cut makes no difference. The head
determines the reader, and `open_body` returns it::

    204, 304, the response to HEAD   SizedBody(0)
    Transfer-Encoding: chunked       ChunkedBody()
    Content-Length: n                SizedBody(n)
    none of these                    BodyUntilClose()

A malformed body is a `RemoteProtocolError`; one that the end of the connection cut short is a
`TransportError`. Neither quotes the bytes: they may be a secret.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from .._errors import RemoteProtocolError, TransportError
from ._transport import Headers

# Longer than any chunk extension that was observed (Go, nginx and Envoy write none), so that a line without
# an end is not kept forever. Go's limit is 4096 too.
_MAX_LINE: Final = 4096

# Trailers are read for their form alone; a server that sends any sends a checksum. h11's limit.
_MAX_TRAILERS: Final = 16 * 1024

# 2**64 has 16 digits, but servers may pad; h11's limit too.
_MAX_DIGITS: Final = 20

_ZERO: Final = ord("0")
_SIZE_LINE: Final = rb"([0-9A-Fa-f]{1,20})(?:;.*)?[ \t]*"
_BLANK_LINE: Final = rb"\n\r?\n"
_TRAILER: Final = rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]+:[ \t]*(?:[^\x00\s]+(?:[ \t]+[^\x00\s]+)*)?[ \t]*"


class Body(Protocol):
    """Reads one body. Once `finished`, `rest` is what came after it."""

    finished: bool
    rest: bytes

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection; return those that belong to the body."""
        ...

    def close(self) -> None:
        """The connection has ended: right for some bodies, a `TransportError` for those it cuts short."""
        ...


class SizedBody:
    """A body whose length is in the head."""

    def __init__(self, size: int) -> None:
        self.finished = size == 0
        self.rest = b""
        self._left = size

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection; return those that belong to the body."""
        piece = data if len(data) <= self._left else data[: self._left]
        self.rest += data[len(piece) :]
        self._left -= len(piece)
        self.finished = not self._left
        return piece

    def close(self) -> None:
        """The connection has ended."""
        if not self.finished:
            raise TransportError(f"the connection ended {self._left} bytes before the end of the response")


class BodyUntilClose:
    """A body that lasts until the connection ends, so that it is not known whether it is complete."""

    def __init__(self) -> None:
        self.finished = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection: all are of the body."""
        return data

    def close(self) -> None:
        """The connection has ended, and the body with it."""
        self.finished = True


class ChunkedBody:
    """A body in chunks, each of which begins with its size.

    Extensions and trailers are checked and dropped.
    """

    def __init__(self) -> None:
        self.finished = False
        self.rest = b""
        self._left = 0  # bytes of the current chunk that have not arrived yet
        self._closing = False  # the two bytes that end a chunk are due
        self._kept = b""  # the front of a line that was cut
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection; return those that belong to the body."""
        if self.finished:
            self.rest += data
            return b""
        if len(data) < self._left:
            self._left -= len(data)
            return data
        if self._kept:
            data, self._kept = self._kept + data, b""
        if self._in_trailers:
            self._read_trailers(data, 0)
            return b""
        pieces: list[memoryview] = []
        at = self._finish_chunk(data, pieces)
        if at >= 0:
            self._read_chunks(data, at, pieces)
        return b"".join(pieces)

    def close(self) -> None:
        """The connection has ended."""
        if not self.finished:
            raise TransportError("the connection ended before the last chunk of the response")

    def _finish_chunk(self, data: bytes, pieces: list[memoryview]) -> int:
        """Read the rest of the chunk that was cut.

        Return where the next begins, or -1 if this one continues.
        """
        end = self._left
        if end:
            pieces.append(memoryview(data)[:end])
            self._left = 0
        if not self._closing:
            return end
        mark = data[end : end + 2]
        if mark == b"\r\n":
            self._closing = False
            return end + 2
        self._keep_line_end(mark)
        return -1

    def _read_chunks(self, data: bytes, at: int, pieces: list[memoryview]) -> None:
        """The loop that every event of a watch passes: no method is called for a complete chunk."""
        view, length, find, add = memoryview(data), len(data), data.find, pieces.append
        while (end := find(b"\r\n", at, at + _MAX_LINE)) >= 0:
            line = data[at:end]
            try:
                # int() would also take a sign, blanks, underscores and 0x.
                size = int(line, 16) if line.isalnum() and line[0] != _ZERO and end - at <= _MAX_DIGITS else 0
            except ValueError:
                size = 0
            if not size and not (size := _size(line)):
                self._in_trailers = True
                self._read_trailers(data, end + 2)
                return
            start = end + 2
            end = start + size
            at = end + 2
            if at > length:
                self._cut(data, start, end, pieces)
                return
            if data[end:at] != b"\r\n":
                raise RemoteProtocolError(
                    f"a chunk of the response ends in {data[end:at]!r}, not in a line end"
                )
            add(view[start:end])
        if length - at >= _MAX_LINE:
            raise RemoteProtocolError(f"the size of a chunk is not complete within {_MAX_LINE} bytes")
        self._kept = data[at:]

    def _cut(self, data: bytes, start: int, end: int, pieces: list[memoryview]) -> None:
        """The data ends inside a chunk, or inside the line end behind it."""
        self._closing = True
        pieces.append(memoryview(data)[start:end])
        if end > len(data):
            self._left = end - len(data)
        else:
            self._keep_line_end(data[end:])

    def _keep_line_end(self, mark: bytes) -> None:
        if not b"\r\n".startswith(mark):
            raise _no_line_end()
        self._kept = mark

    def _read_trailers(self, data: bytes, at: int) -> None:
        # As in heads, a bare newline is a line end: robustness that h11 and Go's reader have.
        empty = 1 if data[at : at + 1] == b"\n" else 2 if data[at : at + 2] == b"\r\n" else 0
        if empty:
            self.finished, self.rest = True, data[at + empty :]
        elif (found := re.search(_BLANK_LINE, data[at:])) is not None:
            _check_trailers(data[at : at + found.start()])
            self.finished, self.rest = True, data[at + found.end() :]
        elif len(data) - at > _MAX_TRAILERS:
            raise RemoteProtocolError(f"the trailers of the response continue after {_MAX_TRAILERS} bytes")
        else:
            self._kept = data[at:]


def open_body(method: str, status: int, headers: Headers) -> Body:
    """Return the reader for the body of a response; `RemoteProtocolError` if its head contradicts itself."""
    codings = _values(headers, "transfer-encoding")
    if codings and [coding.lower() for coding in codings] != ["chunked"]:
        raise RemoteProtocolError(f"the transfer encoding of the response is {', '.join(codings)[:80]!r}")
    sizes = set(_values(headers, "content-length"))
    if len(sizes) > 1 or not all(size.isascii() and size.isdigit() and len(size) <= 20 for size in sizes):
        raise RemoteProtocolError(f"the content length of the response is {', '.join(sorted(sizes))[:80]!r}")
    if status in (204, 304) or method == "HEAD":
        return SizedBody(0)
    if codings:
        return ChunkedBody()
    return SizedBody(int(sizes.pop())) if sizes else BodyUntilClose()


def _values(headers: Headers, name: str) -> list[str]:
    lists = [value.split(",") for key, value in headers if key.lower() == name]
    return [word for values in lists for value in values if (word := value.strip(" \t"))]


def _no_line_end() -> RemoteProtocolError:
    return RemoteProtocolError("a chunk of the response is not followed by a line end")


def _size(line: bytes) -> int:
    """Return the size in a line that has more than digits."""
    found = re.fullmatch(_SIZE_LINE, line)
    if found is None:
        raise RemoteProtocolError("a chunk of the response begins with something else than its size")
    return int(found[1], 16)


def _check_trailers(block: bytes) -> None:
    fields: list[bytes] = []
    for line in block.split(b"\n"):
        line = line.removesuffix(b"\r")
        if line[:1] not in (b" ", b"\t"):
            fields.append(line)
        elif fields:
            fields[-1] += b" " + line.lstrip(b" \t")
        else:
            raise RemoteProtocolError("the trailers of the response begin with a folded line")
    for field in fields:
        if re.fullmatch(_TRAILER, field) is None:
            raise RemoteProtocolError("a trailer of the response has no name, or an invalid one")
