"""Framing: chunks that are cut anywhere become whole lines, which are located and not split."""

from __future__ import annotations

from io import BytesIO
from typing import Final, TypeAlias

from .._errors import RemoteProtocolError
from ..objects._shared import LONG, LineInPlace

# The longest line that is accepted. etcd holds objects of 1.5 MiB and a server accepts bodies of 3 MiB, so
# a line of ten times that is not from an API server. client-go stops at 16 MiB, kube-rs has no limit.
MAX_LINE: Final = 32 * 1024 * 1024


# Whole lines inside a segment, from start to stop; the last may lack its line feed.
LineRun: TypeAlias = tuple[bytes, int, int]


class LineBuffer:
    """Keeps an unfinished `line` until its end arrives."""

    __slots__ = ("_max_line", "line")

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        # One buffer: a list of pieces would take many times their size if they came byte by byte.
        self.line = bytearray()

    def complete(self, chunk: bytes) -> tuple[bytes, int]:
        """Return the line that this chunk completes, if any, and where the other lines in it begin."""
        if not self.line:
            return b"", 0
        end = chunk.find(b"\n") + 1
        if not end:
            return b"", 0
        self.line += chunk[:end]
        line = bytes(self.line)
        self.line.clear()
        return line, end

    def keep(self, part: bytes) -> None:
        """Keep a part of a line that has no end yet."""
        self.line += part
        if (size := len(self.line)) > self._max_line:
            raise RemoteProtocolError(
                f"a line has grown to {size} bytes without an end; the limit is {self._max_line}"
            )

    def check(self, run: LineRun) -> None:
        """Refuse a line that is complete but too long."""
        segment, start, stop = run
        while stop - start > self._max_line:
            end = segment.find(b"\n", start, stop)
            size = (stop if end < 0 else end) - start
            if size > self._max_line:
                raise RemoteProtocolError(
                    f"a line of {size} bytes was received; the limit is {self._max_line}"
                )
            start = end + 1


def has_long_lines(run: LineRun) -> bool:
    """Return True if the first line or the last is long.

    One of the two may be a bookmark, which is short even if all objects are long.
    """
    segment, start, stop = run
    return stop - start >= LONG and (
        segment.find(b"\n", start, start + LONG) < 0 or segment.rfind(b"\n", stop - LONG, stop - 1) < 0
    )


def copy_lines(run: LineRun) -> list[bytes]:
    """Return the lines of a run that is not empty."""
    segment, start, stop = run
    # A BytesIO shares the bytes, and finds the ends of lines in a quarter of the time of `split`.
    stream = BytesIO(segment)
    stream.seek(start)
    lines = stream.readlines()
    if stop < len(segment):
        lines.pop()  # the line that is not complete
    return lines


def locate_lines(run: LineRun) -> list[LineInPlace]:
    """Return the places of the lines, if certainly none of them begins or ends within an object; else [].

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
        if segment[start] != _OPENING_BRACE or segment[end - 1] != _CLOSING_BRACE:
            return []
        lines.append(LineInPlace(segment, start, end))
        start = end + 1
    return lines


_OPENING_BRACE: Final = ord("{")
_CLOSING_BRACE: Final = ord("}")
