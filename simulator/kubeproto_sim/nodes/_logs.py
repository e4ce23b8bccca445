"""The log of a container as a request reads it: which part of it, with or without times, followed or not."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from msgspec import Struct

from ._containers import LogBuffer, LogEntry


class LogQuery(Struct, frozen=True, kw_only=True):
    """The part of a log that is requested. `since` is a time; `stream` is empty for both streams."""

    tail: int | None = None
    since: float | None = None
    limit: int | None = None
    timestamps: bool = False
    stream: str = ""


class LogStream:
    """A log that is followed until its container ends; or, as `text`, its present content."""

    def __init__(self, buffer: LogBuffer, query: LogQuery) -> None:
        self.wake: Callable[[], None] | None = None
        self._buffer = buffer
        self._query = query
        self._left = query.limit
        self._closed = False
        self._at_start_of_line = True
        self._position = _first(buffer.entries, query.tail)
        buffer.followers.append(self._notify)

    @property
    def text(self) -> bytes:
        """The present content."""
        text = self.take()
        self.close()
        return text

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        over = self._buffer.closed and self._position == len(self._buffer.entries)
        return self._closed or over or self._left == 0

    def take(self) -> bytes:
        """What was written since the last time."""
        if self._closed:
            return b""
        entries = self._buffer.entries[self._position :]
        self._position = len(self._buffer.entries)
        text = b"".join(self._shown(entry) for entry in entries if self._is_wanted(entry))
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        return text

    def close(self) -> None:
        """Stop following: the reader is gone."""
        self._closed = True
        if self._notify in self._buffer.followers:
            self._buffer.followers.remove(self._notify)

    def _is_wanted(self, entry: LogEntry) -> bool:
        query = self._query
        return (query.since is None or entry.at >= query.since) and query.stream in ("", entry.stream)

    def _shown(self, entry: LogEntry) -> bytes:
        prefix = b""
        if self._query.timestamps and self._at_start_of_line:
            prefix = f"{nano_time(entry.at)} ".encode()
        self._at_start_of_line = entry.text.endswith(b"\n")
        return prefix + entry.text

    def _notify(self) -> None:
        if self.wake is not None:
            self.wake()


def _first(entries: list[LogEntry], tail: int | None) -> int:
    """The number of the first entry of the last `tail` lines."""
    if tail is None:
        return 0
    lines = 0
    for at in range(len(entries) - 1, -1, -1):
        if entries[at].text.endswith(b"\n") or at == len(entries) - 1:
            if lines == tail:
                return at + 1
            lines += 1
    return 0


def nano_time(seconds: float) -> str:
    """A time as kubelets write it before each line: RFC 3339, with as many digits as are needed."""
    when = datetime.datetime.fromtimestamp(round(seconds, 6), datetime.UTC)
    fraction = f".{when.microsecond:06}".rstrip("0").rstrip(".")
    return f"{when:%Y-%m-%dT%H:%M:%S}{fraction}Z"
