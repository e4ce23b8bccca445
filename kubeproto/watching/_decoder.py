"""`WatchDecoder`: the bytes of a watch, cut anywhere, become events.

Short lines are decoded in C, with one call for all lines of a chunk, and each object keeps its line. Long
ones are not copied. Unless every byte has to be read, they are cut where the identity of their object has
passed, and only that front is decoded; `FRONT_MARKS` in `objects` says why this is sound. A line that fails
in either way is read once more by itself, and only then becomes `Malformed`. A watch whose objects have no
such front stops trying.

How bytes are cut never changes an event, and neither does the rest of its chunk. It may decide when a mistake
is noticed: a line that is broken after its front is `Malformed`, or an event whose object raises when it is
read. No server sends two events on a line, or one on two; they are `Malformed`.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, get_origin

from msgspec.structs import force_setattr

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import Dynamic, KubeObject, Resource
from ..objects._shared import LONG, NEXT_NUMBER, SOURCE, Span, is_json, views_of
from ..wire import Headers, open_inflater
from ._events import CHANGES, WatchEvent
from ._fronts import Fronts
from ._line_buffer import MAX_LINE, LineBuffer, LineRun, copied, has_long_lines, in_place
from ._odd_lines import Refusal, check_content_type, read_change, read_odd_line
from ._wire_lines import OTHER_LINES, line_reader, turned

K = TypeVar("K", bound=KubeObject)


class WatchDecoder(Generic[K]):
    """Decodes one response to a watch. `feed` returns a list of events for each chunk, `finish` what is left.

    Objects are typed lazily: their identity has been read, the rest is read when it is used, and shares
    the memory of the chunk it came in. With `strict` all but their metadata is typed at once, as by `decode`.
    With `checked` nothing more is typed, but every byte is read, so that a line that is broken anywhere is
    `Malformed`: what a Store keeps is read in one pass this way, and in two otherwise.
    A status outside 2xx makes the whole body one `WatchFailed`. An endless line, a broken gzip stream or a
    cut inside an event is a `RemoteProtocolError`.
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
        self._refusal = None if 200 <= status < 300 else Refusal(status, headers)
        self._inflater = open_inflater(() if self._refusal else headers)
        self._lines = LineBuffer(max_line)
        plain: type[Any] = get_origin(kind) or kind
        self._kind = plain.__name__ if resource is None else resource.kind
        if self._refusal is None:
            check_content_type(headers, f"the watch of {self._kind}")
        views = self._views = views_of(plain)
        self._strict = strict
        self._resource = None if views.pinned else resource
        # A kind with its own methods, and a Dynamic, is read one object at a time.
        self._one_by_one = not views.lazy or (strict and plain is Dynamic)
        fronts = views.lazy and not (strict or checked)
        self._fronts = Fronts(views, resource, self._read_line) if fronts else None
        self._reader = line_reader(views.payload(strict=strict))
        self._read_one = self._reader.read
        self._short = 0 if self._one_by_one else min(LONG, max_line)

    def feed(self, chunk: bytes) -> list[WatchEvent[K]]:
        """Take the next bytes; return the events that are complete."""
        events: list[WatchEvent[K]] = []
        if self._refusal is not None:
            self._refusal.feed(chunk)
            return events
        chunk = self._inflater.feed(chunk)
        if len(chunk) < self._short and not self._lines.begun and chunk.find(b"\n") == len(chunk) - 1:
            # A server sends a chunk for each event, so a watch that is not busy consists of these.
            event = self._read_alone(chunk)
            if event is not None:
                events.append(event)
                return events
        line, start = self._lines.feed(chunk)
        runs = [(line, 0, len(line))] if line else []
        stop = chunk.rfind(b"\n") + 1
        if start < stop:
            runs.append((chunk, start, stop))
        if (kept := max(start, stop)) < len(chunk):
            self._lines.keep(chunk[kept:])
        if runs:
            self._read(runs, events)
        return events

    def finish(self) -> list[WatchEvent[K]]:
        """The stream has ended, cleanly or not; a last line may lack its end."""
        if self._refusal is not None:
            return [self._refusal.failed()]
        self._inflater.finish()
        events: list[WatchEvent[K]] = []
        if line := self._lines.rest():
            if not is_json(line):
                raise RemoteProtocolError(f"the watch ended inside an event, after {len(line)} bytes of it")
            self._read([(line, 0, len(line))], events)
        return events

    def _read(self, runs: list[LineRun], events: list[WatchEvent[K]]) -> None:
        """Read whole lines: by their fronts if they are long, in bulk if they are short."""
        for run in runs:
            self._lines.check(run)
        if self._fronts is not None and self._fronts.worth(runs[-1]):
            self._fronts.read(runs, events)
            return
        if self._one_by_one or not self._read_bulk(runs, events):
            for segment, start, stop in runs:
                self._read_each(segment, start, stop, events)

    def _read_alone(self, line: bytes) -> Any:
        """Read a short line; None if it is not an event with one object that has a name."""
        number = NEXT_NUMBER()
        try:
            event = self._read_one(line)
        except InvalidObject:
            return None
        if type(event) in OTHER_LINES or NEXT_NUMBER() - number != 2 or not event.object.metadata.name:
            return None
        force_setattr(event.object.metadata, SOURCE, line)
        return event

    def _read_bulk(self, runs: list[LineRun], events: list[WatchEvent[K]]) -> bool:
        """Read lines with one call for each run; False if they have to be read one by one."""
        found: list[Any] = []
        spans: list[Span] = []
        number = NEXT_NUMBER()
        try:
            for run in runs:
                if has_long_lines(run):
                    segment, start, stop = run
                    spans += in_place(run)
                    found += self._reader.read_lines(memoryview(segment)[start:stop])
                else:
                    lines = copied(run)
                    spans += lines
                    found += self._reader.read_each(lines)
        except InvalidObject:
            return False
        made = NEXT_NUMBER() - number - 1
        if len(found) != len(spans):
            return False
        # One loop of plain Python: calls of `map` for each step took twice as long.
        attach, changes = force_setattr, 0
        for at, event in enumerate(found):
            if type(event) in CHANGES:
                meta = event.object.metadata
                if not meta.name:
                    return False
                attach(meta, SOURCE, spans[at])
                changes += 1
            else:
                found[at] = event.event()
        if made != changes:
            return False
        events += found
        return True

    def _read_each(self, segment: bytes, start: int, stop: int, events: list[WatchEvent[K]]) -> None:
        while start < stop:
            end = segment.find(b"\n", start, stop)
            end = stop if end < 0 else end
            self._read_line(segment, start, end, events)
            start = end + 1

    def _read_line(self, segment: bytes, start: int, end: int, events: list[Any]) -> None:
        """Read one line in one pass, typed as far as this decoder types; or as one of the known odd lines."""
        line = segment[start:end]
        try:
            event = self._read_event(line)
            if type(event) in CHANGES and not event.object.metadata.name:
                raise InvalidObject("an object without a name")
        except InvalidObject as error:
            if (odd := read_odd_line(line, error, self._kind)) is not None:
                events.append(odd)
        else:
            events.append(turned(event))

    def _read_event(self, line: bytes) -> Any:
        number = NEXT_NUMBER()
        try:
            if self._one_by_one:
                return read_change(line, self._views, strict=self._strict) or self._read_one(line)
            event = self._read_one(line)
        except InvalidObject as error:
            # It may be nested too deeply, or have something that no server sends today.
            event = read_change(line, self._views, strict=self._strict, error=error)
            if event is None:
                raise
            return event
        if type(event) in CHANGES:
            if NEXT_NUMBER() - number != 2:
                return read_change(line, self._views, strict=self._strict)
            force_setattr(event.object.metadata, SOURCE, line)
        return event
