"""Framing: from chunks cut anywhere to whole lines, which are found and not split."""

from __future__ import annotations

from io import BytesIO
from typing import Final, TypeAlias

from .._errors import RemoteProtocolError
from ..objects._shared import LONG, LineInPlace

# The longest line that is accepted. etcd holds objects of 1.5 MiB and a server accepts bodies of 3 MiB, so
# a line of ten times that is not from an API server. client-go stops at 16 MiB, kube-rs has no limit.
MAX_LINE: Final = 32 * 1024 * 1024


# Whole lines inside a segment, from start to stop; the last may lack its end.
LineRun: TypeAlias = tuple[bytes, int, int]


class LineBuffer:
    """Keeps an incomplete line until its end arrives."""

    __slots__ = ("_max", "begun")

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        # One buffer: a list of pieces would cost many times their size if they came byte by byte.
        self.begun = bytearray()

    def feed(self, chunk: bytes) -> tuple[bytes, int]:
        """Return the line that this chunk completes, if any, and where the whole lines in it begin."""
        if not self.begun:
            return b"", 0
        end = chunk.find(b"\n") + 1
        if not end:
            return b"", 0
        self.begun += chunk[:end]
        line = bytes(self.begun)
        self.begun.clear()
        return line, end

    def keep(self, piece: bytes) -> None:
        """Keep the beginning, or some middle, of a line without its end."""
        self.begun += piece
        if (size := len(self.begun)) > self._max:
            raise RemoteProtocolError(
                f"a line has grown to {size} bytes without an end; the limit is {self._max}"
            )

    def check(self, run: LineRun) -> None:
        """Refuse a line that is complete but too long."""
        segment, start, stop = run
        while stop - start > self._max:
            end = segment.find(b"\n", start, stop)
            size = (stop if end < 0 else end) - start
            if size > self._max:
                raise RemoteProtocolError(f"a line of {size} bytes was received; the limit is {self._max}")
            start = end + 1

    def rest(self) -> bytes:
        """Return what was kept: a line without an end."""
        return bytes(self.begun)


def has_long_lines(run: LineRun) -> bool:
    """Return True if the first line or the last is long.

    One of them may be a bookmark. It is short, whatever the kind, and says nothing about the others.
    """
    segment, start, stop = run
    return stop - start >= LONG and (
        segment.find(b"\n", start, start + LONG) < 0 or segment.rfind(b"\n", stop - LONG, stop - 1) < 0
    )


def copied(run: LineRun) -> list[bytes]:
    """Return the lines, which must not be empty."""
    segment, start, stop = run
    stream = BytesIO(segment)  # which shares the bytes, and finds ends ten times as fast as `split`
    stream.seek(start)
    lines = stream.readlines()
    if stop < len(segment):
        lines.pop()  # the line that is not complete
    return lines


def in_place(run: LineRun) -> list[LineInPlace]:
    """Return the lines, if certainly none of them begins or ends within a JSON object; [] otherwise.

    Nowhere in JSON does "{" follow "}" after nothing but blanks. So if each line begins and ends with such a
    brace, each value that follows the last one in the run is on one line.
    """
    segment, start, stop = run
    find = segment.find
    lines: list[LineInPlace] = []
    while start < stop:
        end = find(b"\n", start, stop)
        if end < 0:
            end = stop
        if segment[start] != _OPENING or segment[end - 1] != _CLOSING:
            return []
        lines.append(LineInPlace(segment, start, end))
        start = end + 1
    return lines


_OPENING: Final = ord("{")
_CLOSING: Final = ord("}")
