"""The lines of a log that is followed: its bytes, cut anywhere, become lines."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .._errors import RemoteProtocolError
from ..wire import Decoder, Head, Headers, inflate, refusal

# A program may write forever without ending a line. Container runtimes cut at 16 KiB, so this limit is for
# anything in between.
_LONGEST: Final = 1 << 20


class LogLines:
    """Decodes a log. A line is returned without its end; one of more than a mebibyte is returned in pieces.

    A refusal is raised by `finish`, as the `ApiError` that it is, because only then its body is complete.
    """

    def __init__(self, request: Head, status: int, headers: Headers) -> None:
        self._request = request
        self._status = status
        self._headers = headers
        # One buffer that grows: to join what is kept with each chunk would be quadratic in a long line.
        self._rest = bytearray()

    @property
    def _refused(self) -> bool:
        return not 200 <= self._status < 300

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; return the lines that are complete."""
        if self._refused:
            if len(self._rest) < _LONGEST:
                self._rest += chunk
            return []
        first, *more = chunk.split(b"\n")
        self._rest += first
        lines = self._pieces()
        for line in more:
            lines.append(bytes(self._rest))
            self._rest = bytearray(line)
            lines += self._pieces()
        return lines

    def _pieces(self) -> list[bytes]:
        """Return what can be returned of a line before its end has come."""
        pieces: list[bytes] = []
        while len(self._rest) > _LONGEST:
            pieces.append(bytes(self._rest[:_LONGEST]))
            del self._rest[:_LONGEST]
        return pieces

    def finish(self) -> list[bytes]:
        """Return the last line of a log that has ended, if it has no end; or raise the response's error."""
        rest, self._rest = bytes(self._rest), bytearray()
        if self._refused:
            try:
                rest = inflate(self._headers, rest)
            except RemoteProtocolError:
                rest = b""
            raise refusal(self._request, self._status, self._headers, rest)
        return [rest] if rest else []


class FollowedLog(Struct, frozen=True):
    """A log that is followed."""

    def open(self, request: Head, status: int, headers: Headers) -> Decoder[bytes]:
        """Return a decoder of its lines."""
        return LogLines(request, status, headers)
