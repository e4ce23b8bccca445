"""Reading long lines of a watch from their front, for as long as that succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec.structs import force_setattr

from .._errors import InvalidObject
from ..objects import Resource
from ..objects._shared import FRONT_MARKS, FRONT_SKIP, LONG, SOURCE, KindViews, shows_all
from ._line_buffer import LineRun, has_long_lines
from ._wire_lines import object_line_reader

if TYPE_CHECKING:
    from collections.abc import Callable

    ReadLine: TypeAlias = Callable[[bytes, int, int, list[Any]], None]

# A mark is given up for the next one after this many failures in a row: enough to skip a few odd objects,
# few enough to cost nothing.
_MAX_MISSES: Final = 16

# `{"type":"ADDED","object":` precedes the object.
_SKIP: Final = FRONT_SKIP + len(b'{"type":"ADDED","object":')


class Fronts:
    """The cut that works for one kind. Each watch looks for it again, and gives up if there is none."""

    __slots__ = ("_cluster_scoped", "_marks", "_misses", "_pinned", "_read_lines", "_whole")

    def __init__(self, views: KindViews, resource: Resource | None, whole: ReadLine) -> None:
        """`whole` reads a line that has no front, in one pass."""
        self._read_lines = object_line_reader(views.view).read_lines
        self._pinned = views.pinned
        self._cluster_scoped = views.cluster_scoped or (resource is not None and not resource.namespaced)
        self._marks = list(FRONT_MARKS)
        self._misses = 0
        self._whole = whole

    def worth(self, run: LineRun) -> bool:
        """Return True if there are long lines and the last cuts did not all fail."""
        return bool(self._marks) and has_long_lines(run)

    def read(self, runs: list[LineRun], events: list[Any]) -> None:
        """Read lines by their fronts: find all, decode them in one call, and give each its span."""
        mark = self._marks[0]
        fronts: list[bytes] = []
        spans: list[LineRun] = []
        # This loop and the next are a third of the time that a watch of pods takes.
        for segment, start, stop in runs:
            find = segment.find
            while start < stop:
                end = find(b"\n", start)
                if end < 0:
                    end = stop
                cut = find(mark, start + _SKIP, end)
                if cut > 0:
                    fronts.append(segment[start:cut])
                    spans.append((segment, start, end))
                else:
                    self._decode(fronts, spans, events)
                    fronts, spans = [], []
                    self._miss(segment, start, end, events)
                start = end + 1
        self._decode(fronts, spans, events)
        if self._misses >= _MAX_MISSES:
            self._misses = 0
            self._marks.pop(0)

    def _decode(self, fronts: list[bytes], spans: list[LineRun], events: list[Any]) -> None:
        if not fronts:
            return
        try:
            found = self._read_lines(b"}}}\n".join(fronts) + b"}}}")
        except InvalidObject:
            self._decode_each(fronts, spans, events)
            return
        attach, pinned = force_setattr, self._pinned
        for event, front, span in zip(found, fronts, spans, strict=True):
            obj = event.object
            meta = obj.metadata
            if not (
                meta.name
                and meta.uid
                and meta.resource_version
                and (meta.namespace or self._has_none(front, span))
                and (pinned or (obj.kind and obj.api_version))
            ):
                self._decode_each(fronts, spans, events)
                return
            attach(meta, SOURCE, span)
        events += found
        self._misses = 0

    def _has_none(self, front: bytes, span: LineRun) -> bool:
        """Return whether there is no namespace, rather than one after the cut."""
        segment, start, end = span
        return self._cluster_scoped and shows_all(segment, start + len(front), end)

    def _decode_each(self, fronts: list[bytes], spans: list[LineRun], events: list[Any]) -> None:
        """Decode fronts one by one, to find the one that is not a front."""
        if len(fronts) == 1:
            self._miss(*spans[0], events)
            return
        for front, span in zip(fronts, spans, strict=True):
            self._decode([front], [span], events)

    def _miss(self, segment: bytes, start: int, end: int, events: list[Any]) -> None:
        self._whole(segment, start, end, events)
        # Short lines, usually bookmarks, gain nothing from a front.
        self._misses += end - start >= LONG
