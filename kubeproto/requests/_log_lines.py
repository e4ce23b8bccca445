"""`LogLines`: the decoder of a followed log, from bytes to lines."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .._errors import RemoteProtocolError
from ..wire import Decoder, Headers, RawRequest, inflate, refusal

# A program may write forever without ending a line. Container runtimes split lines at 16 KiB, so this limit
# is a protection against other writers.
_MAX_LINE: Final = 1 << 20


class LogLines:
    """Decodes a log. Lines are returned without their ends; a line above a mebibyte is returned in parts.

    `finish` raises the `ApiError` of a refusal, because its body is complete only then.
    """

    def __init__(self, request: RawRequest, status: int, headers: Headers) -> None:
        self._request = request
        self._status = status
        self._headers = headers
        # A growing buffer: concatenating bytes with each chunk would be quadratic in a long line.
        self._buffer = bytearray()

    @property
    def _refused(self) -> bool:
        return not 200 <= self._status < 300

    def feed(self, chunk: bytes) -> list[bytes]:
        """Process the next bytes; return the complete lines."""
        if self._refused:
            if len(self._buffer) < _MAX_LINE:
                self._buffer += chunk
            return []
        line, *next_lines = chunk.split(b"\n")
        self._buffer += line
        lines = self._take_parts()
        for line in next_lines:
            lines.append(bytes(self._buffer))
            self._buffer = bytearray(line)
            lines += self._take_parts()
        return lines

    def _take_parts(self) -> list[bytes]:
        """Return the parts of a line that exceed the limit before its end."""
        parts: list[bytes] = []
        while len(self._buffer) > _MAX_LINE:
            parts.append(bytes(self._buffer[:_MAX_LINE]))
            del self._buffer[:_MAX_LINE]
        return parts

    def finish(self) -> list[bytes]:
        """Return the last line if it is unfinished, or raise the error of the response."""
        last_line, self._buffer = bytes(self._buffer), bytearray()
        if self._refused:
            try:
                body = inflate(self._headers, last_line)
            except RemoteProtocolError:
                body = b""
            raise refusal(self._request, self._status, self._headers, body)
        return [last_line] if last_line else []


class LogOpener(Struct, frozen=True):
    """A log that is followed."""

    def open(self, request: RawRequest, status: int, headers: Headers) -> Decoder[bytes]:
        """Return a decoder of its lines."""
        return LogLines(request, status, headers)
