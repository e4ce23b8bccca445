"""`WatchDecoder`: the bytes of a watch, cut anywhere, become events.

Line ends are found, lines are not split. Short lines are decoded in bulk, one call for all that a chunk
holds. Long ones are cut where the identity of their object has passed, and only that front is decoded; why
this is sound stands at `FRONT_MARKS` in `objects`. Whatever fails in either way is decoded once more as a
whole line, and only then called `Malformed`. A watch whose objects have no such front stops trying.

How bytes are cut never matters to an event, nor what came beside it. It may decide when a mistake is seen: a
line that is broken behind its front is `Malformed`, or it is an event whose object raises when touched. Two
events on a line, or one on two, come from no server, and are `Malformed`.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, Final, Generic, TypeVar, get_origin

from .._errors import InvalidObject, RemoteProtocolError
from ..objects import ATTACH, Dynamic, KubeObject, Resource, TooDeep, is_json, views_of
from ..objects._shared import UNREAD
from ..wire import Headers, open_inflater
from ._events import WatchEvent
from ._fronts import Fronts
from ._line_buffer import MAX_LINE, LineBuffer, LineRun
from ._odd_lines import Refusal, check_content_type, deep_event, read_odd_line
from ._wire_lines import OTHER_LINES, line_reader, turned

K = TypeVar("K", bound=KubeObject)


class WatchDecoder(Generic[K]):
    """Decodes one answer to a watch. `feed` gives a list of events a chunk, `finish` what the end leaves.

    Objects are typed lazily: their identity has been read, the rest is read when it is touched, and shares
    the memory of the chunk it came in. With `strict` all but their metadata is typed at once, as by `decode`.
    A status outside 2xx makes the whole body one `Failed`. An endless line, a broken gzip stream or a cut
    inside an event is a `RemoteProtocolError`.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        resource: Resource | None = None,
        strict: bool = False,
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
        # Code of the kind's own, and all of a Dynamic, is read an object at a time.
        self._one_by_one = not views.lazy or (strict and plain is Dynamic)
        self._fronts = None if strict or not views.lazy else Fronts(views, resource, self._read_line)
        read = line_reader(views.payload(strict=strict))
        self._read_one, self._read_lines = read.read, read.read_lines

    def feed(self, chunk: bytes) -> list[WatchEvent[K]]:
        """Take the next bytes; give the events that are complete."""
        events: list[WatchEvent[K]] = []
        if self._refusal is not None:
            self._refusal.feed(chunk)
            return events
        chunk = self._inflater.feed(chunk)
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
        """Runs of whole lines: by their fronts if they are long, in bulk if they are short."""
        for run in runs:
            self._lines.check(run)
        if self._fronts is not None and self._fronts.worth(runs[-1]):
            self._fronts.read(runs, events)
            return
        for segment, start, stop in runs:
            if self._one_by_one:
                self._read_each(segment, start, stop, events)
                continue
            if not self._read_bulk(segment, start, stop, events):
                self._read_each(segment, start, stop, events)

    def _read_bulk(self, segment: bytes, start: int, stop: int, events: list[WatchEvent[K]]) -> bool:
        """Read lines with one call; False if they are to be looked at one by one."""
        try:
            found = self._read_lines(
                memoryview(segment)[start:stop] if stop - start < len(segment) else segment
            )
        except InvalidObject:
            return False
        # Each event gets the line that it came in. What is done for each of them is done in C: in Python it
        # would take as long as decoding it.
        lines = (segment if stop - start == len(segment) else segment[start:stop]).split(b"\n")
        if not lines[-1]:
            lines.pop()
        if not _hold_one_event_each(lines, len(found)):
            return False
        if not OTHER_LINES.isdisjoint(map(type, found)):
            return self._attach_some(found, lines, events)
        metas = list(map(_METADATA, found))
        if not all(map(_NAME, metas)):
            return False
        _exhaust(map(ATTACH, metas, zip(repeat(UNREAD), lines, repeat(0), map(len, lines), strict=False)))
        events += found
        return True

    def _attach_some(self, found: list[Any], lines: list[bytes], events: list[WatchEvent[K]]) -> bool:
        """Do the same for lines among which there are bookmarks or errors."""
        read: list[Any] = []
        for event, line in zip(found, lines, strict=True):
            if type(event) in OTHER_LINES:
                read.append(event.event())
            elif event.object.metadata.name:
                ATTACH(event.object.metadata, (UNREAD, line, 0, len(line)))
                read.append(event)
            else:
                return False
        events += read
        return True

    def _read_each(self, segment: bytes, start: int, stop: int, events: list[WatchEvent[K]]) -> None:
        while start < stop:
            end = segment.find(b"\n", start, stop)
            end = stop if end < 0 else end
            self._read_line(segment, start, end, events)
            start = end + 1

    def _read_line(self, segment: bytes, start: int, end: int, events: list[Any]) -> None:
        """One line in one pass, typed as far as this decoder types; or odd in one of the known ways."""
        line = segment[start:end]
        try:
            try:
                event = self._read_one(line)
            except TooDeep:
                event = deep_event(line, self._views, strict=self._strict)
            if type(event) in OTHER_LINES:
                events.append(turned(event))
                return
            if not event.object.metadata.name:
                raise InvalidObject("an object without a name")
            if not (self._views.lazy and type(event.object.metadata.source_) is tuple):
                self._views.attach(event.object, (UNREAD, line, 0, len(line)))
            if self._one_by_one and self._views.lazy:
                getattr(event.object, "content")  # noqa: B009 # reads it
        except InvalidObject as error:
            if (odd := read_odd_line(line, error, self._kind)) is not None:
                events.append(odd)
        else:
            events.append(event)


_exhaust: Final = partial(deque[Any], maxlen=0)
_METADATA: Final = attrgetter("object.metadata")
_NAME: Final = attrgetter("name")
_FIRST: Final = itemgetter(0)
_LAST: Final = itemgetter(-1)
_OPENING, _CLOSING = frozenset(b"{"), frozenset(b"}")


def _hold_one_event_each(lines: list[bytes], events: int) -> bool:
    """Return whether each line is one event, given how many events were read from all of them.

    No JSON value has "}" at the end of a line and "{" at the beginning of the next, so no event goes on
    from a line that ends so to one that begins so.
    """
    try:
        return (
            len(lines) == events
            and _OPENING.issuperset(map(_FIRST, lines))
            and _CLOSING.issuperset(map(_LAST, lines))
        )
    except IndexError:  # a blank line
        return False
