"""Framing: chunks with arbitrary boundaries become complete lines, which are located without being copied."""

from __future__ import annotations

from io import BytesIO
from typing import Final, TypeAlias

from .._errors import RemoteProtocolError
from ..objects._shared import LONG_TEXT, LineInPlace

# The maximum length of a line. etcd holds objects of 1.5 MiB and a server accepts bodies of 3 MiB, so
# a line of ten times that size is not from an API server. client-go stops at 16 MiB, kube-rs has no limit.
MAX_LINE: Final = 32 * 1024 * 1024


# Complete lines in a segment, from start to stop; the last line may lack its line feed.
LineRun: TypeAlias = tuple[bytes, int, int]


class LineBuffer:
    """Keeps an unfinished `line` until its end arrives."""

    __slots__ = ("_max_line", "line")

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        # One buffer: a list of pieces would take many times their size if they came byte by byte.
        self.line = bytearray()

    def complete(self, chunk: bytes) -> tuple[bytes, int]:
        """Return the line that this chunk completes, if any, and the offset of the next line in the chunk."""
        if not self.line:
            return b"", 0
        end = chunk.find(b"\n") + 1
        if not end:
            return b"", 0
        self.line += chunk[:end]
        line = bytes(self.line)
        self.line.clear()
        return line, end

    def append(self, part: bytes) -> None:
        """Append a part of a line whose end has not arrived."""
        self.line += part
        if (size := len(self.line)) > self._max_line:
            raise RemoteProtocolError(
                f"a line has grown to {size} bytes without an end; the limit is {self._max_line}"
            )

    def check(self, run: LineRun) -> None:
        """Raise `RemoteProtocolError` if a complete line is too long."""
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
    """Return whether the first or the last line is long.

    Either of them may be a bookmark, which is short even if all objects are long.
    """
    segment, start, stop = run
    return stop - start >= LONG_TEXT and (
        segment.find(b"\n", start, start + LONG_TEXT) < 0
        or segment.rfind(b"\n", stop - LONG_TEXT, stop - 1) < 0
    )


def copy_lines(run: LineRun) -> list[bytes]:
    """Return copies of the lines of a run, which must not be empty."""
    segment, start, stop = run
    # A BytesIO shares the bytes, and finds the ends of lines in a quarter of the time of `split`.
    stream = BytesIO(segment)
    stream.seek(start)
    lines = stream.readlines()
    if stop < len(segment):
        lines.pop()  # the unfinished line
    return lines


def locate_lines(run: LineRun) -> list[LineInPlace]:
    """Return the positions of the lines; [] if an object may continue on the next line.

    In JSON, "{" never follows "}" with only whitespace between them. So if each line begins with "{" and ends
    with "}", each event is on a single line.
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
