"""The lines of a watch as msgspec decodes them: events of objects, bookmarks and errors."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw, Struct

from ..objects import Reader
from ._odd_lines import read_failure
from ._watch_events import Added, Bookmark, Deleted, Modified, WatchFailed


class _BookmarkMeta(Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str | None] | None = None


class _BookmarkObject(Struct):
    metadata: _BookmarkMeta


class BookmarkLine(Struct, tag_field="type", tag="BOOKMARK"):
    """A bookmark on the wire. Its object has the watched kind; only its version and annotations are read."""

    object: _BookmarkObject

    def to_event(self) -> Bookmark:
        """Return the event."""
        meta = self.object.metadata
        annotations = meta.annotations or {}
        return Bookmark(meta.resource_version, annotations.get("k8s.io/initial-events-end") == "true")


class ErrorLine(Struct, tag_field="type", tag="ERROR"):
    """The line that ends a watch: its object is usually a Status, but may be anything."""

    object: Raw

    def to_event(self) -> WatchFailed:
        """Return the event."""
        return read_failure(self.object)


OTHER_LINES: Final = frozenset((BookmarkLine, ErrorLine))


def event_of_line(line: Any) -> Any:
    """Return the event of a decoded line."""
    return line.to_event() if type(line) in OTHER_LINES else line


_readers: Final[dict[tuple[Any, bool], Reader[Any]]] = {}


def line_reader(payload: Any) -> Reader[Any]:
    """Return the reader of all lines of watches with objects of this type."""
    return _line_reader(payload, all_types=True)


def object_line_reader(payload: Any) -> Reader[Any]:
    """Return the reader of lines that have an object of this type, which is a little faster."""
    return _line_reader(payload, all_types=False)


def _line_reader(payload: Any, *, all_types: bool) -> Reader[Any]:
    reader = _readers.get((payload, all_types))
    if reader is None:
        lines: Any = Added[payload] | Modified[payload] | Deleted[payload]
        lines = lines | BookmarkLine | ErrorLine if all_types else lines
        reader = _readers[payload, all_types] = Reader[Any](lines, payload.__qualname__).prepare()
    return reader
