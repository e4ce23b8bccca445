"""The log of a container, and the part of it that a request reads: with or without times, followed or not."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

OutputStream: TypeAlias = Literal["stdout", "stderr"]


class LogEntry(Struct, frozen=True, gc=False):
    """A written line; a line without its end continues in the next entry of its stream."""

    time: float
    stream: OutputStream
    text: bytes


class LogBuffer:
    """The log of a run of a container. Each reader that follows it has a callback in `followers`."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.closed = False
        self.followers: list[Callable[[], None]] = []

    def write(self, time: float, data: bytes, stream: OutputStream) -> None:
        """Add output, line by line."""
        self.entries += [LogEntry(time, stream, line) for line in data.splitlines(keepends=True)]
        self._notify()

    def close(self) -> None:
        """End the log: the container has ended."""
        self.closed = True
        self._notify()

    def copy(self) -> LogBuffer:
        """Return a copy without followers."""
        clone = LogBuffer()
        clone.entries, clone.closed = list(self.entries), self.closed
        return clone

    def _notify(self) -> None:
        for notify in list(self.followers):
            notify()


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
        self._remaining = query.limit
        self._closed = False
        self._is_line_start = True
        self._position = _first_entry(buffer.entries, query.tail)
        buffer.followers.append(self._notify)

    @property
    def text(self) -> bytes:
        """The present content."""
        text = self.take()
        self.close()
        return text

    @property
    def ended(self) -> bool:
        """Whether the reader has received everything."""
        is_complete = self._buffer.closed and self._position == len(self._buffer.entries)
        return self._closed or is_complete or self._remaining == 0

    def take(self) -> bytes:
        """Return the output since the last call."""
        if self._closed:
            return b""
        entries = self._buffer.entries[self._position :]
        self._position = len(self._buffer.entries)
        text = b"".join(self._format(entry) for entry in entries if self._is_selected(entry))
        if self._remaining is not None:
            text = text[: self._remaining]
            self._remaining -= len(text)
        return text

    def close(self) -> None:
        """Stop following: the reader has disconnected."""
        self._closed = True
        if self._notify in self._buffer.followers:
            self._buffer.followers.remove(self._notify)

    def _is_selected(self, entry: LogEntry) -> bool:
        query = self._query
        return (query.since is None or entry.time >= query.since) and query.stream in ("", entry.stream)

    def _format(self, entry: LogEntry) -> bytes:
        prefix = b""
        if self._query.timestamps and self._is_line_start:
            prefix = f"{_kubelet_timestamp(entry.time)} ".encode()
        self._is_line_start = entry.text.endswith(b"\n")
        return prefix + entry.text

    def _notify(self) -> None:
        if self.wake is not None:
            self.wake()


def _first_entry(entries: list[LogEntry], tail: int | None) -> int:
    """Return the index of the first entry of the last `tail` lines."""
    if tail is None:
        return 0
    lines = 0
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].text.endswith(b"\n") or index == len(entries) - 1:
            if lines == tail:
                return index + 1
            lines += 1
    return 0


def _kubelet_timestamp(seconds: float) -> str:
    """Return a time as a kubelet writes it before each line: RFC 3339 with the digits of its fraction."""
    time = datetime.datetime.fromtimestamp(round(seconds, 6), datetime.UTC)
    fraction = f".{time.microsecond:06}".rstrip("0").rstrip(".")
    return f"{time:%Y-%m-%dT%H:%M:%S}{fraction}Z"
