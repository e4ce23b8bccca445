"""`WatchDecoder`: the bytes of a watch, cut anywhere, become events.

Line ends are found, lines are not split. Short lines are decoded in bulk, one call for all that a chunk
holds. Long ones are cut where the identity of their object has passed, and only that front is decoded; why
this is sound stands at `FRONT_MARKS` in `objects`. Whatever fails in either way is decoded once more as a
whole line, and only then called `Malformed`. A watch whose objects have no such front stops trying.

How bytes are cut never matters to an event on a line of its own. It may decide when a mistake is seen: a line
that is broken behind its front is `Malformed`, or it is an event whose object raises when touched. Two events
on a line, or one on two, come from no server: they are read if they come in bulk and are short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_origin

import msgspec

from .._errors import RemoteProtocolError
from ..objects import NOT_JSON, UNREAD, Dynamic, KindStages, KubeObject, Resource, settle, stages_of
from ..wire import Headers, open_inflater
from ._events import WatchEvent
from ._fronts import Fronts
from ._lines import MAX_LINE, Lines, Run
from ._odd_lines import Refusal, check_content_type, is_json, read_odd_line
from ._wire_lines import OTHER_LINES, line_decoder, turned

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self._lines = Lines(max_line)
        plain: type[Any] = get_origin(kind) or kind
        self._kind = plain.__name__ if resource is None else resource.kind
        if self._refusal is None:
            check_content_type(headers, f"the watch of {self._kind}")
        stages = stages_of(plain)
        # A Dynamic is never complete without its text, and a kind without stages may lack a name unseen: both
        # are looked after line by line.
        self._dynamic = stages if plain is Dynamic else None
        self._one_by_one = stages is None or plain is Dynamic
        self._strict = strict
        self._fronts = None if stages is None or strict else Fronts(stages, resource, self._read_line)
        decoder = line_decoder(_payload(kind, stages, strict=strict))
        self._decode: Callable[[bytes], Any] = decoder.decode
        self._decode_lines: Callable[[bytes | memoryview], list[Any]] = decoder.decode_lines

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

    def _read(self, runs: list[Run], events: list[WatchEvent[K]]) -> None:
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
            region = memoryview(segment)[start:stop] if stop - start < len(segment) else segment
            try:
                found = self._decode_lines(region)
            except NOT_JSON:
                self._read_each(segment, start, stop, events)
            else:
                events += [event.event() if type(event) in OTHER_LINES else event for event in found]

    def _read_each(self, segment: bytes, start: int, stop: int, events: list[WatchEvent[K]]) -> None:
        while start < stop:
            end = segment.find(b"\n", start, stop)
            end = stop if end < 0 else end
            self._read_line(segment, start, end, events)
            start = end + 1

    def _read_line(self, segment: bytes, start: int, end: int, events: list[WatchEvent[K]]) -> None:
        """One line in one pass, typed as far as this decoder types; or odd in one of the known ways."""
        line = segment[start:end]
        try:
            event = self._decode(line)
            if type(event) not in OTHER_LINES and not event.object.metadata.name:
                raise msgspec.ValidationError("an object without a name")
        except NOT_JSON as error:
            if (odd := read_odd_line(line, error, self._kind)) is not None:
                events.append(odd)
            return
        if type(event) in OTHER_LINES:
            event = turned(event)
        elif self._dynamic is not None:
            self._dynamic.attach(event.object, (UNREAD, line, 0, len(line)))
            if self._strict:
                settle(event.object)
        events.append(event)


def _payload(kind: Any, stages: KindStages | None, *, strict: bool) -> Any:
    """The type that a line's object is decoded as, in one pass."""
    if stages is None:
        return kind
    return stages.front if stages.plain is Dynamic else stages.in_line(strict=strict)
