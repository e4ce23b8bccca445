"""`LogCursor`: the position in the log of a container, across connections.

A server cannot return the lines after a given line. It can return the lines since a second, each with its
time (``sinceTime``, which an API server truncates to whole seconds, and ``timestamps``), so the cursor skips
the lines of that second that it has already returned. A line is identified by its time and, among lines of
the same time, by its number.

- All lines before that line are skipped in a resumed log, whatever their times: container runtimes stamp
  stdout and stderr separately, so the order of lines may differ from the order of their times.
- A line that is later than all returned lines ends the skipping. The expected line no longer exists then,
  because the file was rotated, or because this is the log of the container's next run.
- A response may end anywhere, even normally: an API server that loses its kubelet ends the response as if the
  log had ended. So a line without an end is held back until `finish`, which the caller calls when the
  container has ended.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

# A program may write forever without ending a line: such a line is returned in pieces of this size.
MAX_PIECE: Final = 1 << 20

_TIME: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NS_PER_SECOND: Final = 1_000_000_000


class TimedLine(Struct, frozen=True, gc=False):
    """A line of a log without its line end, or a piece of a very long line.

    `complete` is False for a piece that another piece of the same line follows. `time` is as the kubelet
    wrote it, and empty for its own messages, which have no time.
    """

    text: bytes
    time: bytes = b""
    complete: bool = True


class _CurrentLine(Struct):
    """The line whose end has not arrived. `skip` is the number of its bytes that were returned earlier."""

    nanoseconds: int | None
    time: bytes
    is_new: bool
    skip: int = 0
    returned: int = 0  # bytes that were returned in pieces


class LogCursor:
    """Takes the bytes of a log that is read with ``timestamps=true``; returns the new lines."""

    def __init__(self) -> None:
        self._last_time: int | None = None  # of the last returned line, in nanoseconds
        self._last_time_count = 0  # returned lines with this time
        self._latest_time = 0  # of all returned lines
        self._buffer = bytearray()
        self._skipping = False
        self._skipped_count = 0  # lines with the time of the last line, since the log was resumed
        self._at_start = True  # of the response
        self._line: _CurrentLine | None = None
        # The time and the returned bytes of a line that the end of a connection has cut.
        self._cut_line: tuple[int | None, int] = (None, 0)
        self._parsed_second: tuple[tuple[bytes, bytes], int] = ((b"", b""), 0)

    @property
    def since(self) -> datetime | None:
        """The second from which to request the log; None if no line with a time has arrived."""
        if self._last_time is None:
            return None
        return _EPOCH + timedelta(seconds=self._last_time // _NS_PER_SECOND)

    def begin(self) -> None:
        """Begin another response, which starts at `since` if that is set."""
        line = self._line
        if line is not None and line.is_new:
            self._cut_line = (line.nanoseconds, line.returned + line.skip)
        self._buffer.clear()
        self._line = None
        self._skipping, self._skipped_count, self._at_start = self._last_time is not None, 0, True

    def feed(self, chunk: bytes) -> list[TimedLine]:
        """Take the next bytes of the response; return the new lines that they complete."""
        lines: list[TimedLine] = []
        first, *others = chunk.split(b"\n")
        self._buffer += first
        for part in others:
            self._take_buffer(lines, complete=True)
            self._buffer += part
        # The bytes of a skipped line are not kept either.
        if len(self._buffer) > MAX_PIECE:
            self._take_buffer(lines, complete=False)
        return lines

    def finish(self) -> list[TimedLine]:
        """Return the last line, if it has no end: the container has ended, and nothing will follow."""
        lines: list[TimedLine] = []
        if self._buffer or self._line is not None:
            self._take_buffer(lines, complete=True)
        return lines

    def _take_buffer(self, lines: list[TimedLine], *, complete: bool) -> None:
        """Append the buffered piece of the current line, if the line is new."""
        text = bytes(self._buffer)
        self._buffer.clear()
        if self._line is None:
            self._line, text = self._begin_line(text)
        line = self._line
        if line.is_new:
            new_text = text[line.skip :]
            if new_text or complete:
                lines.append(TimedLine(new_text, line.time, complete))
            line.returned += len(text)
            line.skip = max(0, line.skip - len(text))
        if complete:
            if line.is_new and line.nanoseconds is not None:
                self._advance(line.nanoseconds)
            self._line = None

    def _begin_line(self, text: bytes) -> tuple[_CurrentLine, bytes]:
        """Read the time before a line; return the line, and the text after the time."""
        at_start, self._at_start = self._at_start, False
        match = _TIME.match(text)
        if match is None:
            # This is a message of the kubelet. But the first bytes of a resumed log may be the end of a line
            # that began before the requested second, and has been returned.
            return _CurrentLine(None, b"", is_new=not (at_start and self._skipping)), text
        nanoseconds = self._parse_time(match)
        line = _CurrentLine(nanoseconds, match[0].rstrip(), not self._skipping or self._is_new(nanoseconds))
        if line.is_new:
            cut_time, returned = self._cut_line
            if nanoseconds == cut_time:
                line.skip = returned
            self._cut_line = (None, 0)
        return line, text[match.end() :]

    def _is_new(self, nanoseconds: int) -> bool:
        """Return whether a line of a resumed log comes after the returned lines."""
        if nanoseconds > self._latest_time:
            self._skipping = False
        elif nanoseconds == self._last_time:
            self._skipped_count += 1
            # The last returned line may not have been the last line of its time.
            self._skipping = self._skipped_count <= self._last_time_count
        elif self._skipped_count >= self._last_time_count:
            self._skipping = False
        return not self._skipping

    def _advance(self, nanoseconds: int) -> None:
        self._last_time_count = self._last_time_count + 1 if nanoseconds == self._last_time else 1
        self._last_time = nanoseconds
        self._latest_time = max(self._latest_time, nanoseconds)

    def _parse_time(self, match: re.Match[bytes]) -> int:
        key = (match[1], match[3])
        parsed_key, seconds = self._parsed_second
        if key != parsed_key:  # most lines are of the same second as the line before
            text = match[1] + (b"+00:00" if match[3] == b"Z" else match[3])
            try:
                time = datetime.fromisoformat(text.decode())
            except ValueError:  # such as a 31st of February, which no kubelet writes
                time = _EPOCH
            seconds = (time - _EPOCH) // timedelta(seconds=1)
            self._parsed_second = (key, seconds)
        return seconds * _NS_PER_SECOND + int((match[2] or b"0").ljust(9, b"0"))
