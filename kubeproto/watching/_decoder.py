"""`WatchDecoder`: turns the bytes of a watch, with arbitrary chunk boundaries, into events.

`tests/watching/plain_decoder.py` is a plain form of this decoder, which splits lines and parses each
separately. Read it first. This decoder returns the same events by four tricks, with a measurement at each:

- a chunk with one short line skips the buffer (`_read_single`);
- short lines are decoded in C, with one call for all lines of a chunk (`_read_bulk`);
- long lines are not copied and, unless every byte must be read, are decoded only up to the end of their
  object's identity (`PrefixReader`; the comment on `PREFIX_ENDS` in `objects` explains why this is sound);
- objects are views of their line, so the events of a chunk share its memory.

A line that fails in any of these ways is read again separately, and becomes `Malformed` if that fails too.

Chunk boundaries never change an event, and neither do the other lines of its chunk. They may change the time
at which an error is noticed: a line that is broken after its identity prefix is either `Malformed`, or an
event whose object raises when it is read. No server sends two events on a line, or an event on two lines;
these are `Malformed`.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, get_origin

from msgspec.structs import force_setattr

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import Dynamic, KubeObject, Resource
from ..objects._shared import LONG_TEXT, NEXT_NUMBER, SOURCE, Span, is_json, views_of
from ..wire import Headers, open_inflater
from ._line_buffer import MAX_LINE, LineBuffer, LineRun, copy_lines, has_long_lines, locate_lines
from ._odd_lines import ErrorBody, check_content_type, read_change, read_odd_line
from ._prefix_reader import PrefixReader
from ._watch_events import CHANGES, WatchEvent
from ._wire_lines import OTHER_LINES, event_of_line, line_reader

K = TypeVar("K", bound=KubeObject)


class WatchDecoder(Generic[K]):
    """Decodes the response to a watch. `feed` returns the events of each chunk, `finish` the last event.

    Objects are typed lazily: their identity has been decoded, and each other part is decoded when it is used.
    They share the memory of their chunk. With `strict` everything but the metadata is typed immediately, as
    by `decode`. With `checked` no more parts are typed, but every byte is read, so a line that is broken
    anywhere is `Malformed`: a Store, which keeps all lines, needs no second pass over them.
    With a status outside 2xx the whole body becomes a `WatchFailed`. An endless line, a broken gzip stream or
    an end inside an event raises `RemoteProtocolError`.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        resource: Resource | None = None,
        strict: bool = False,
        checked: bool = False,
        status: int = 200,
        headers: Headers = (),
        max_line: int = MAX_LINE,
    ) -> None:
        self._error_body = None if 200 <= status < 300 else ErrorBody(status, headers)
        self._inflater = open_inflater(() if self._error_body else headers)
        self._buffer = LineBuffer(max_line)
        plain_kind: type[Any] = get_origin(kind) or kind
        self._kind = plain_kind.__name__ if resource is None else resource.kind
        if self._error_body is None:
            check_content_type(headers, f"the watch of {self._kind}")
        views = self._views = views_of(plain_kind)
        self._strict = strict
        # A kind with its own methods would see unread parts, and the content of a Dynamic is several members.
        self._reads_separately = not views.lazy or (strict and plain_kind is Dynamic)
        lazy = views.lazy and not (strict or checked)
        self._prefix_reader = PrefixReader(views, None if views.pinned else resource) if lazy else None
        self._reader = line_reader(views.payload(strict=strict))
        self._read_one = self._reader.read
        self._max_unbatched_size = 0 if self._reads_separately else min(LONG_TEXT, max_line)

    def feed(self, chunk: bytes) -> list[WatchEvent[K]]:
        """Take the next bytes; return the events that are complete."""
        events: list[WatchEvent[K]] = []
        if self._error_body is not None:
            self._error_body.feed(chunk)
            return events
        chunk = self._inflater.feed(chunk)
        if (
            len(chunk) < self._max_unbatched_size
            and not self._buffer.line
            and chunk.find(b"\n") == len(chunk) - 1
        ):
            # A server sends each event in a chunk of its own unless it is busy. Such an event takes 4.3 µs on
            # this path (a custom resource of 660 bytes) and 6.6 µs on the path of busy watches.
            event = self._read_single(chunk)
            if event is not None:
                events.append(event)
                return events
        line, start = self._buffer.complete(chunk)
        runs = [(line, 0, len(line))] if line else []
        stop = chunk.rfind(b"\n") + 1
        if start < stop:
            runs.append((chunk, start, stop))
        if (unfinished := max(start, stop)) < len(chunk):
            self._buffer.append(chunk[unfinished:])
        if runs:
            self._read(runs, events)
        return events

    def finish(self) -> list[WatchEvent[K]]:
        """Handle the end of the stream, regular or not; the last line may lack its line feed."""
        if self._error_body is not None:
            return [self._error_body.to_event()]
        self._inflater.finish()
        events: list[WatchEvent[K]] = []
        if line := bytes(self._buffer.line):
            if not is_json(line):
                raise RemoteProtocolError(f"the watch ended inside an event, after {len(line)} bytes of it")
            self._read([(line, 0, len(line))], events)
        return events

    def _read(self, runs: list[LineRun], events: list[WatchEvent[K]]) -> None:
        """Read complete lines: by their identity prefixes if they are long, in bulk if they are short."""
        for run in runs:
            self._buffer.check(run)
        if self._prefix_reader is not None and self._prefix_reader.suits(runs[-1]):
            items: list[Any] = []
            if self._prefix_reader.read(runs, items):
                read_line: Any = self._read_line
                items = [read_line(*item) if type(item) is tuple else item for item in items]
                items = [event for event in items if event is not None]
            events += items
        elif self._reads_separately or not self._read_bulk(runs, events):
            for segment, start, stop in runs:
                while start < stop:
                    end = segment.find(b"\n", start, stop)
                    end = stop if end < 0 else end
                    if (event := self._read_line(segment, start, end)) is not None:
                        events.append(event)
                    start = end + 1

    # `NEXT_NUMBER` numbers the metadata of views when msgspec creates them. If reading a line took a single
    # number, the line has a single object, whose text can be found from the ends of the line. If it took two,
    # a key occurs twice, or the line has two events. A number costs 50 ns per event; reading the envelope of
    # each line for the same knowledge would take 0.8 µs for 660 bytes, and 4.8 µs for a pod.

    def _read_single(self, line: bytes) -> Any:
        """Read a short line; return None unless it is an event with a single object that has a name."""
        number = NEXT_NUMBER()
        try:
            event = self._read_one(line)
        except InvalidObject:
            return None
        # The two numbers differ by 2 if the line took one number between them.
        if type(event) in OTHER_LINES or NEXT_NUMBER() - number != 2 or not event.object.metadata.name:
            return None
        force_setattr(event.object.metadata, SOURCE, line)
        return event

    def _read_bulk(self, runs: list[LineRun], events: list[WatchEvent[K]]) -> bool:
        """Read lines with one call for each run; return False if they must be read separately.

        An event of 660 bytes takes 2.4 µs in a full chunk, and 4.3 µs if each line is read separately.
        """
        decoded: list[Any] = []
        spans: list[Span] = []
        number = NEXT_NUMBER()
        try:
            for run in runs:
                if has_long_lines(run):
                    # In place: copies of lines of 5.8 KB take 8 % longer. Short lines are read faster as
                    # copies, by 10 %.
                    segment, start, stop = run
                    spans += locate_lines(run)
                    decoded += self._reader.read_lines(memoryview(segment)[start:stop])
                else:
                    lines = copy_lines(run)
                    spans += lines
                    decoded += self._reader.read_each(lines)
        except InvalidObject:
            return False
        object_count = NEXT_NUMBER() - number - 1
        if len(decoded) != len(spans):
            return False
        # One loop of plain Python: calls of `map` for each step took twice as long.
        attach, change_count = force_setattr, 0
        for index, event in enumerate(decoded):
            if type(event) in CHANGES:
                metadata = event.object.metadata
                if not metadata.name:
                    return False
                attach(metadata, SOURCE, spans[index])
                change_count += 1
            else:
                decoded[index] = event.to_event()
        if object_count != change_count:
            return False
        events += decoded
        return True

    def _read_line(self, segment: bytes, start: int, end: int) -> Any:
        """Read a single line, if necessary as an odd line; return None for a blank line."""
        line = segment[start:end]
        try:
            event = self._read_event(line)
            if type(event) in CHANGES and not event.object.metadata.name:
                raise InvalidObject("an object without a name")
        except InvalidObject as error:
            return read_odd_line(line, error, self._kind)
        return event_of_line(event)

    def _read_event(self, line: bytes) -> Any:
        number = NEXT_NUMBER()
        try:
            if self._reads_separately:
                return read_change(line, self._views, strict=self._strict) or self._read_one(line)
            event = self._read_one(line)
        except InvalidObject as error:
            # It may be nested too deeply, or have members that no server sends today.
            event = read_change(line, self._views, strict=self._strict, error=error)
            if event is None:
                raise
            return event
        if type(event) in CHANGES:
            if NEXT_NUMBER() - number != 2:
                return read_change(line, self._views, strict=self._strict)
            force_setattr(event.object.metadata, SOURCE, line)
        return event
