"""`Watch`: the stream of an open watch, whose bytes are made when its reader takes them.

A watch has a position in the events of a resource and reads on from there, so the cost of a write does not
depend on the number of open watches. Bookmarks and the end have their times: `next_due` is the next of these
times, and `tick` performs the due actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from .._rejections import Rejection, failure, unexplained, version_too_large
from .._state import ServerState
from ..storage._storage import Change, StoredEvent, StoredRecord, VersionExpired
from ._field_selectors import check_fields, matcher
from ._list_requests import invalid_version, list_objects, read_version
from ._object_views import END_MARK, Viewer
from ._query import ListQuery
from ._routes import Route
from ._shard_selectors import read_shards

_MIN_TIMEOUT: Final = 1800  # --min-request-timeout; a watch ends between that and twice that
_BOOKMARK_INTERVAL: Final = 60.0
_LAST_BOOKMARK: Final = 2.0  # seconds before the end
_OPENINGS: Final[Mapping[Change, bytes]] = {
    "ADDED": b'{"type":"ADDED","object":',
    "MODIFIED": b'{"type":"MODIFIED","object":',
    "DELETED": b'{"type":"DELETED","object":',
}
_CLOSING: Final = b"}\n"
# Watches at the same position share the lines of at most this number of events. A watch that is further
# behind is rarely at the position of another watch, so its lines would be kept for nobody.
_MAX_SHARED_EVENTS: Final = 64


class Watch:
    """An open watch. `wake` is called when there may be bytes to take, `on_end` once at its end."""

    def __init__(
        self, state: ServerState, route: Route, options: ListQuery, viewer: Viewer, *, gzip: bool
    ) -> None:
        self.state = state
        self.storage = route.served.storage
        self.viewer = viewer
        self.driver_calls_webhooks = False  # those that convert its objects
        self.ended = False
        self.gzip = gzip
        self.wake: Callable[[], None] | None = None
        self.on_end: Callable[[Watch], None] | None = None
        self.namespace = route.namespace
        self._matches = matcher(route.served, options)
        self._shards = read_shards(options.shards) if options.shards else None
        self._as_stored = viewer.view == "object" and route.served.shows_stored_bytes
        self._unfiltered = self._as_stored and self._matches is None and self._shards is None
        self._generation = self.storage.generation
        self._pending: list[bytes] = []
        self._start_version = 0  # events up to this version are not sent
        self._position = self.storage.end
        self._last_version = 0  # of the last event that was read
        now = state.clock.time
        timeout = options.timeout or _MIN_TIMEOUT + state.rng.randrange(_MIN_TIMEOUT)
        self._deadline = now + max(timeout, 0)
        self._bookmarks = options.bookmarks and state.modes.bookmarks
        self._next_bookmark = min(now + _BOOKMARK_INTERVAL, self._deadline - _LAST_BOOKMARK)
        if self._next_bookmark <= now:
            self._next_bookmark = self._deadline
        self._opening = True  # an error still becomes the response of the request
        try:
            self._open(route, options)
        except Rejection as refused:
            if not route.served.converts:
                raise
            self._end_unconverted(refused)
        self._opening = False

    @property
    def next_due(self) -> float | None:
        """The next time at which something happens without a write; None once the watch has ended."""
        if self.ended:
            return None
        return min(self._next_bookmark, self._deadline) if self._bookmarks else self._deadline

    def tick(self) -> None:
        """Send a bookmark or end the watch, whichever is due."""
        if not self.ended:
            self._read_events()
        now = self.state.clock.time
        if self.ended:
            return  # a bookmark would name versions whose events were compacted before they were sent
        if now >= self._deadline:
            self._end()
        elif self._bookmarks and now >= self._next_bookmark:
            # A server that was restored to an older version sends no bookmark to a watch at a later version.
            if self.state.reached >= self._start_version:
                self._bookmark({})
            following = self._next_bookmark + _BOOKMARK_INTERVAL
            last = self._deadline - _LAST_BOOKMARK
            self._next_bookmark = following if following < last else last if now < last else self._deadline

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        if not self.ended:
            self._read_events()
        if not self._pending:
            return b""
        data = b"".join(self._pending)
        self._pending.clear()
        if self.gzip:
            # One gzip member for each flush, for the whole life of the stream.
            import zlib

            member = zlib.compressobj(wbits=31)
            data = member.compress(data) + member.flush()
        return data

    def close(self) -> None:
        """End at once, without an error, as a server does to slow watches, on a new schema or at shutdown."""
        self._end()

    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event, and end."""
        self._read_events()
        self._pending.append(error_line(status))
        self._end()

    def _end_unconverted(self, refused: Rejection) -> None:
        """End a watch whose next object cannot be converted.

        At the beginning of the watch that is an error. Later the watch cache of a server ends, and with it
        all its watches.
        """
        if self._opening or not self.state.modes.watch_cache:
            message: str = refused.status["message"]
            status = failure(500, f"Internal error occurred: {message}", {"causes": [{"message": message}]})
            self._pending.append(error_line(status))
        self._end()

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            if self.on_end is not None:
                self.on_end(self)

    def _open(self, route: Route, options: ListQuery) -> None:
        version = read_version(options.version or "0")
        assert version is not None  # open_watch has refused any other
        if options.timeout is not None and options.timeout < 0:
            self._end()
        elif options.initial_events or (version == 0 and options.initial_events is None):
            if version > self.state.reached:
                modes = self.state.modes
                refusal = version_too_large(
                    version, self.state.reached, modes.too_large, cached=modes.watch_cache
                )
                self._pending.append(error_line(refusal.status))
                self._end()
                return
            self._send_initial_events(route, options)
        elif version:
            self._start_version = version
            self._position = self.storage.number_after(version)
            self._read_events()

    def _send_initial_events(self, route: Route, options: ListQuery) -> None:
        """Send the initial events: all objects, in the order of a list, and the bookmark at their end."""
        all_objects = msgspec.structs.replace(options, limit=0, token="", version="", match="")
        page = list_objects(self.state, route, all_objects)
        self._position = self.storage.number_after(page.version)
        self._start_version = page.version
        for stored in page.objects:
            self._pending.append(self._line(b"ADDED", stored.data, stored.version))
        if not (options.initial_events and self._bookmarks):
            return
        end_mark = self.state.modes.end_mark
        if end_mark != "missing":
            self._bookmark(
                {END_MARK: "false" if end_mark == "false" else "true"},
                without_version=end_mark == "without-version",
            )

    def _bookmark(self, annotations: dict[str, str], *, without_version: bool = False) -> None:
        # Events that were sent before the cache began to lag cannot be unsent, so no bookmark names an older
        # version than theirs.
        reached = max(self.state.reached, self._start_version, self._last_version)
        version = "" if without_version else str(reached)
        obj = self.viewer.bookmark(version, annotations, old=self.state.modes.old_bookmarks)
        self._pending.append(b'{"type":"BOOKMARK","object":%s}\n' % obj)

    def _read_events(self) -> None:
        """Read the next events of the storage."""
        storage = self.storage
        if storage.generation != self._generation:
            self._end()  # the events until now are still sent
        if self._position < storage.first_number:
            self._end()
            return
        start = self._position - storage.first_number
        events = storage.events
        if start == len(events):
            return
        served = self.viewer.served
        if not served.converts or self._opening:
            if (
                self._unfiltered
                and not (served.converts or self.state.lag)
                and events[start].version > self._start_version
            ):
                self._append_shared_lines(start)
            else:
                self._append_lines(events[start:] if start else events)
            return
        try:
            with (
                served.following(called_later=self.driver_calls_webhooks),
                served.reading(cached=self.state.modes.watch_cache),
            ):
                self._append_lines(events[start:])
        except Rejection as refused:
            self._end_unconverted(refused)

    def _append_shared_lines(self, start: int) -> None:
        """Append the next events from lines that all unfiltered watches at this position share."""
        storage, key = self.storage, (self._position, self.namespace)
        lines = storage.lines.get(key)
        if lines is None:
            events = storage.events[start:]
            lines = _join_lines(events, self.namespace)
            if len(events) <= _MAX_SHARED_EVENTS:
                storage.lines[key] = lines
        if lines:
            self._pending.append(lines)
        self._position, self._last_version = storage.end, storage.events[-1].version

    def _append_lines(self, events: list[StoredEvent]) -> None:
        reached, pending, served = self.state.reached, self._pending, self.viewer.served
        if served.converts:
            served.prepare(event.stored.data for event in events if self._is_in_scope(event))
        for event in events:
            if event.stored.version > reached:
                break
            if not self._is_in_scope(event):
                pass
            elif self._unfiltered:
                # Not joined here: `take` joins all parts, so each object is copied once.
                pending += (_OPENINGS[event.change], event.stored.data, _CLOSING)
            elif line := self._selected_line(event):
                pending.append(line)
            self._position += 1
            self._last_version = event.stored.version

    def _is_in_scope(self, event: StoredEvent) -> bool:
        stored = event.stored
        return stored.version > self._start_version and (
            not self.namespace or stored.namespace == self.namespace
        )

    def _selected_line(self, event: StoredEvent) -> bytes:
        """Return an event as seen through a selector: an object is ADDED when it begins to match it."""
        is_in = event.change != "DELETED" and self._selects(event.stored)
        was_in = event.previous is not None and self._selects(event.previous)
        if is_in and (was_in or event.change == "ADDED"):
            return self._stored_line(event)
        if is_in:
            return self._line(b"ADDED", event.stored.data, event.version)
        if not was_in:
            return b""
        if event.change == "DELETED":
            return self._stored_line(event)
        assert event.previous is not None  # its previous state was selected
        return self._line(b"DELETED", with_version(self.viewer, event.previous, event.version), event.version)

    def _stored_line(self, event: StoredEvent) -> bytes:
        if self._as_stored:
            return b"%b%b%b" % (_OPENINGS[event.change], event.stored.data, _CLOSING)
        return self._line(event.change.encode(), event.stored.data, event.version)

    def _selects(self, stored: StoredRecord) -> bool:
        return (self._matches is None or self._matches(stored)) and (
            self._shards is None or self._shards.contains(stored)
        )

    def _line(self, change: bytes, data: bytes, version: int) -> bytes:
        obj = self.viewer.watched(data, version, self.state.clock.time)
        return b'{"type":"%s","object":%s}\n' % (change, obj)


def open_watch(state: ServerState, route: Route, options: ListQuery, viewer: Viewer, *, gzip: bool) -> Watch:
    """Open a watch, or refuse it in the form of this server."""
    check_fields(route.served, options.fields)
    if read_version(options.version or "0") is None:
        raise unexplained(f"resourceVersion: {invalid_version(options.version)}")
    try:
        return Watch(state, route, options, viewer, gzip=gzip)
    except VersionExpired:
        status = expired_status(state, route, options.version)
        if state.modes.gone != "in-stream":
            raise Rejection(status) from None
    fresh = msgspec.structs.replace(options, version="", initial_events=False)
    watch = Watch(state, route, fresh, viewer, gzip=gzip)
    watch.fail(status)
    return watch


def expired_status(state: ServerState, route: Route, version: str) -> dict[str, Any]:
    """Return the Status of a watch that begins before the window of events."""
    storage = route.served.storage
    oldest = max(storage.compacted, storage.events[0].version - 1) if storage.events else storage.compacted
    message = f"too old resource version: {version} ({oldest})"
    if not state.modes.watch_cache:
        message = "The resourceVersion for the provided watch is too old."
    return failure(410, message, reason="Gone" if state.modes.gone == "http-gone" else "Expired")


def _join_lines(events: list[StoredEvent], namespace: str) -> bytes:
    """Return the lines of the events in a namespace, or in all namespaces."""
    parts: list[bytes] = []
    for event in events:
        stored = event.stored
        if not namespace or stored.namespace == namespace:
            parts += (_OPENINGS[event.change], stored.data, _CLOSING)
    return b"".join(parts)


def error_line(status: dict[str, Any]) -> bytes:
    """Return an ERROR event."""
    return b'{"type":"ERROR","object":%s}\n' % msgspec.json.encode(status)


def with_version(viewer: Viewer, stored: StoredRecord, version: int) -> bytes:
    """Return the stored form of an object with another resource version."""
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    obj["metadata"]["resourceVersion"] = str(version)
    return viewer.served.encode_unconverted(obj)
