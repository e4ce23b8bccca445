"""Readers of HTTP/1.1 response bodies, which return few and large pieces of data.

A server writes a chunk for each event, and a read of a busy socket returns a hundred chunks. `feed` takes the
received bytes and returns their body data in a single piece; chunk boundaries never matter. The head
determines the reader, and `open_body` returns it::

    204, 304, the response to HEAD   SizedBody(0)
    Transfer-Encoding: chunked       ChunkedBody()
    Content-Length: n                SizedBody(n)
    none of these                    BodyUntilClose()

A malformed body is a `RemoteProtocolError`; an incomplete body at the end of the connection is a
`TransportError`. Neither quotes the bytes: they may be a secret.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from .._errors import RemoteProtocolError, TransportError
from ._transport import Headers

# A line without an end must not be buffered forever. Go, nginx and Envoy write no chunk extensions; Go's
# limit is 4096 too.
_MAX_LINE: Final = 4096

# Trailers are parsed but ignored (in practice a checksum). The limit is that of h11.
_MAX_TRAILERS: Final = 16 * 1024

# 2**64 has 16 digits, but servers may pad; h11's limit too.
_MAX_DIGITS: Final = 20

_ZERO: Final = ord("0")
_SIZE_LINE: Final = rb"([0-9A-Fa-f]{1,20})(?:;.*)?[ \t]*"
_BLANK_LINE: Final = rb"\n\r?\n"
_TRAILER: Final = rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]+:[ \t]*(?:[^\x00\s]+(?:[ \t]+[^\x00\s]+)*)?[ \t]*"


class Body(Protocol):
    """Reads a body. Once `finished`, `trailing_data` holds the bytes behind it."""

    finished: bool
    trailing_data: bytes

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection; return those that belong to the body."""
        ...

    def close(self) -> None:
        """Handle the end of the connection; raise `TransportError` if the body is incomplete."""
        ...


class SizedBody:
    """A body whose length is in the head."""

    def __init__(self, size: int) -> None:
        self.finished = size == 0
        self.trailing_data = b""
        self._remaining = size

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection; return those that belong to the body."""
        body = data if len(data) <= self._remaining else data[: self._remaining]
        self.trailing_data += data[len(body) :]
        self._remaining -= len(body)
        self.finished = not self._remaining
        return body

    def close(self) -> None:
        """Handle the end of the connection."""
        if not self.finished:
            raise TransportError(
                f"the connection ended {self._remaining} bytes before the end of the response"
            )


class BodyUntilClose:
    """A body that lasts until the connection ends, so that nobody knows whether it is complete."""

    def __init__(self) -> None:
        self.finished = False
        self.trailing_data = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection: all are of the body."""
        return data

    def close(self) -> None:
        """Finish the body with the connection."""
        self.finished = True


class ChunkedBody:
    """A body in chunks, each of which begins with its size.

    Extensions and trailers are checked and dropped.
    """

    def __init__(self) -> None:
        self.finished = False
        self.trailing_data = b""
        self._remaining = 0  # bytes of the current chunk that have not arrived yet
        self._expects_line_end = False  # the two bytes that end a chunk have not arrived yet
        self._buffer = b""  # the beginning of an incomplete line
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the connection; return those that belong to the body."""
        if self.finished:
            self.trailing_data += data
            return b""
        if len(data) < self._remaining:
            self._remaining -= len(data)
            return data
        if self._buffer:
            data, self._buffer = self._buffer + data, b""
        if self._in_trailers:
            self._read_trailers(data, 0)
            return b""
        pieces: list[memoryview] = []
        offset = self._finish_chunk(data, pieces)
        if offset >= 0:
            self._read_chunks(data, offset, pieces)
        return b"".join(pieces)

    def close(self) -> None:
        """Handle the end of the connection."""
        if not self.finished:
            raise TransportError("the connection ended before the last chunk of the response")

    def _finish_chunk(self, data: bytes, pieces: list[memoryview]) -> int:
        """Read the remaining bytes of a chunk.

        Return the offset of the next chunk, or -1 if this chunk continues.
        """
        end = self._remaining
        if end:
            pieces.append(memoryview(data)[:end])
            self._remaining = 0
        if not self._expects_line_end:
            return end
        line_end = data[end : end + 2]
        if line_end == b"\r\n":
            self._expects_line_end = False
            return end + 2
        self._buffer_line_end(line_end)
        return -1

    def _read_chunks(self, data: bytes, offset: int, pieces: list[memoryview]) -> None:
        """Read complete chunks; every event of a watch passes this loop, so it calls no method per chunk."""
        view, length, find, add = memoryview(data), len(data), data.find, pieces.append
        while (end := find(b"\r\n", offset, offset + _MAX_LINE)) >= 0:
            line = data[offset:end]
            try:
                # int() would also accept a sign, spaces, underscores and 0x.
                is_plain = line.isalnum() and line[0] != _ZERO and end - offset <= _MAX_DIGITS
                size = int(line, 16) if is_plain else 0
            except ValueError:
                size = 0
            if not size and not (size := _parse_size(line)):
                self._in_trailers = True
                self._read_trailers(data, end + 2)
                return
            start = end + 2
            end = start + size
            offset = end + 2
            if offset > length:
                self._suspend_chunk(data, start, end, pieces)
                return
            if data[end:offset] != b"\r\n":
                raise RemoteProtocolError(
                    f"a chunk of the response ends in {data[end:offset]!r}, instead of a line ending"
                )
            add(view[start:end])
        if length - offset >= _MAX_LINE:
            raise RemoteProtocolError(f"the size of a chunk is not complete within {_MAX_LINE} bytes")
        self._buffer = data[offset:]

    def _suspend_chunk(self, data: bytes, start: int, end: int, pieces: list[memoryview]) -> None:
        """Remember a chunk whose data or line end is incomplete."""
        self._expects_line_end = True
        pieces.append(memoryview(data)[start:end])
        if end > len(data):
            self._remaining = end - len(data)
        else:
            self._buffer_line_end(data[end:])

    def _buffer_line_end(self, line_end: bytes) -> None:
        if not b"\r\n".startswith(line_end):
            raise _no_line_end()
        self._buffer = line_end

    def _read_trailers(self, data: bytes, offset: int) -> None:
        # As in heads, a bare newline is a line end: robustness that h11 and Go's reader have.
        line_end_size = (
            1 if data[offset : offset + 1] == b"\n" else 2 if data[offset : offset + 2] == b"\r\n" else 0
        )
        if line_end_size:
            self.finished, self.trailing_data = True, data[offset + line_end_size :]
        elif (blank_line := re.search(_BLANK_LINE, data[offset:])) is not None:
            _check_trailers(data[offset : offset + blank_line.start()])
            self.finished, self.trailing_data = True, data[offset + blank_line.end() :]
        elif len(data) - offset > _MAX_TRAILERS:
            raise RemoteProtocolError(f"the trailers of the response continue after {_MAX_TRAILERS} bytes")
        else:
            self._buffer = data[offset:]


def open_body(method: str, status: int, headers: Headers) -> Body:
    """Return the reader for the body of a response; raise `RemoteProtocolError` if its head contradicts
    itself."""
    codings = _header_values(headers, "transfer-encoding")
    if codings and [coding.lower() for coding in codings] != ["chunked"]:
        raise RemoteProtocolError(f"the transfer encoding of the response is {', '.join(codings)[:80]!r}")
    sizes = set(_header_values(headers, "content-length"))
    if len(sizes) > 1 or not all(size.isascii() and size.isdigit() and len(size) <= 20 for size in sizes):
        raise RemoteProtocolError(f"conflicting or invalid Content-Length: {', '.join(sorted(sizes))[:80]!r}")
    if status in (204, 304) or method == "HEAD":
        return SizedBody(0)
    if codings:
        return ChunkedBody()
    return SizedBody(int(sizes.pop())) if sizes else BodyUntilClose()


def _header_values(headers: Headers, name: str) -> list[str]:
    lists = [value.split(",") for key, value in headers if key.lower() == name]
    return [item for values in lists for value in values if (item := value.strip(" \t"))]


def _no_line_end() -> RemoteProtocolError:
    return RemoteProtocolError("a chunk of the response is not followed by a line end")


def _parse_size(line: bytes) -> int:
    """Return the size in a line that has more than digits."""
    match = re.fullmatch(_SIZE_LINE, line)
    if match is None:
        raise RemoteProtocolError("a chunk of the response does not begin with its size")
    return int(match[1], 16)


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
