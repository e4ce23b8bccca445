"""`LogCursor`: the place that was reached in the log of a container, whatever the connections do.

A server cannot return the lines after a given line. It can return those since a second, with the time
of each (``sinceTime``, which an API server cuts to whole seconds, and ``timestamps``): the cursor skips what
was read of that second. A line is found by its time and, among lines of one time, by its number.

- Everything before that line in a resumed log is skipped whatever its time: container runtimes stamp stdout
  and stderr separately, so that lines may be in another order than their times.
- A line that is later than all that were read ends the skipping. The expected line is then gone,
  because the file was rotated, or because this is the log of the container's next run.
- A response may end anywhere, even normally: an API server that loses its kubelet ends the response as if the
  log had ended. So a line without an end is held back, and only `finish`, which the caller calls when the
  container has ended, returns it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

# A program may write forever without ending a line: such a line is passed on in pieces of this size.
LONGEST: Final = 1 << 20

_TIME: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = 1_000_000_000


class TimedLine(Struct, frozen=True, gc=False):
    """A line of a log without its end, or a piece of a very long one: then the last of them is `whole`.

    `time` is as the kubelet wrote it, and empty where it wrote none: its own messages have no time.
    """

    text: bytes
    time: bytes = b""
    whole: bool = True


class LogCursor:
    """Takes the bytes of a log that is read with ``timestamps=true``; returns the lines that are new."""

    def __init__(self) -> None:
        self._at: int | None = None  # the time of the last line, in nanoseconds
        self._count = 0  # lines with this time
        self._latest = 0  # the latest time of all lines
        self._rest = bytearray()
        self._skipping = False
        self._met = 0  # lines with the time of the last line, since the log was resumed
        self._first = True
        self._line: tuple[int | None, bytes, bool] | None = None  # time, its text, whether it is passed on
        self._sent = 0  # bytes of the current line that were passed on in pieces
        self._known: tuple[int | None, int] = (None, 0)  # the same for the line that was cut
        self._drop = 0
        self._second: tuple[bytes, bytes] = (b"", b"")
        self._seconds = 0

    @property
    def since(self) -> datetime | None:
        """The second from which to request the log; None if no line with a time has arrived."""
        if self._at is None:
            return None
        return _EPOCH + timedelta(seconds=self._at // _SECOND)

    def begin(self) -> None:
        """Begin another response, which starts at `since` if that is set."""
        if self._line is not None and self._line[2]:
            self._known = (self._line[0], self._sent + self._drop)
        self._rest.clear()
        self._line, self._sent, self._drop = None, 0, 0
        self._skipping, self._met, self._first = self._at is not None, 0, True

    def feed(self, chunk: bytes) -> list[TimedLine]:
        """Take the next bytes of the response; return the new lines that they complete."""
        lines: list[TimedLine] = []
        first, *more = chunk.split(b"\n")
        self._rest += first
        for rest in more:
            self._take(lines, whole=True)
            self._rest += rest
        # A line that is skipped is not kept either.
        if len(self._rest) > LONGEST:
            self._take(lines, whole=False)
        return lines

    def finish(self) -> list[TimedLine]:
        """Return the last line, if it has no end: the container has ended, and nothing will follow."""
        lines: list[TimedLine] = []
        if self._rest or self._line is not None:
            self._take(lines, whole=True)
        return lines

    def _take(self, lines: list[TimedLine], *, whole: bool) -> None:
        """Take the next piece of the current line."""
        text = bytes(self._rest)
        self._rest.clear()
        if self._line is None:
            self._line, text = self._begin_line(text)
        at, time, wanted = self._line
        if wanted:
            kept = text[self._drop :]
            if kept or whole:
                lines.append(TimedLine(kept, time, whole))
            self._sent += len(text)
            self._drop = max(0, self._drop - len(text))
        if whole:
            if wanted and at is not None:
                self._note(at)
            self._line, self._sent, self._drop = None, 0, 0

    def _begin_line(self, text: bytes) -> tuple[tuple[int | None, bytes, bool], bytes]:
        """Read the time before a line; return it, whether the line is new, and the text after it."""
        first, self._first = self._first, False
        found = _TIME.match(text)
        if found is None:
            # This is a message of the kubelet. But the first bytes of a resumed log may be the rest of a line
            # that began before the requested second: that one was read.
            return (None, b"", not (first and self._skipping)), text
        at = self._parse(found)
        wanted = not self._skipping or self._is_new(at)
        if wanted and at == self._known[0]:
            self._drop = self._known[1]
        if wanted:
            self._known = (None, 0)
        return (at, found[0].rstrip(), wanted), text[found.end() :]

    def _is_new(self, at: int) -> bool:
        """Whether a line of a resumed log comes after those that were read."""
        if at > self._latest:
            self._skipping = False
            return True
        if at == self._at:
            self._met += 1
            if self._met > self._count:  # only if it was the last of its time: the log continues with it
                self._skipping = False
                return True
            return False
        if self._met >= self._count:
            self._skipping = False
            return True
        return False

    def _note(self, at: int) -> None:
        self._count = self._count + 1 if at == self._at else 1
        self._at = at
        self._latest = max(self._latest, at)

    def _parse(self, found: re.Match[bytes]) -> int:
        second = (found[1], found[3])
        if second != self._second:  # most lines are of the same second as the line before
            text = found[1] + (b"+00:00" if found[3] == b"Z" else found[3])
            try:
                then = datetime.fromisoformat(text.decode())
            except ValueError:  # such as a 31st of February, which no kubelet writes
                then = _EPOCH
            self._second, self._seconds = second, (then - _EPOCH) // timedelta(seconds=1)
        return self._seconds * _SECOND + int((found[2] or b"0").ljust(9, b"0"))
