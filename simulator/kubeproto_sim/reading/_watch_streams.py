"""A watch as a stream of bytes that the server fills and its reader takes.

A watch keeps a position among the events of its kind's storage and continues from there when it is read, so a
write costs the same however many watches are open. Bookmarks and the end are due at certain times: `due` is
the next of them, and `tick` does what is due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from .._rejections import Rejection, failure, unexplained, version_too_large
from .._state import ServerState
from ..storage._storage import Change, Stored, StoredEvent, VersionExpired
from ._field_selectors import check_fields, matcher
from ._list_requests import invalid_version, list_objects, read_version
from ._object_views import END_MARK, Viewer
from ._query import ListQuery
from ._routes import Route
from ._shard_selectors import read_shards

MIN_TIMEOUT: Final = 1800  # --min-request-timeout; a watch ends between that and twice that
BOOKMARK_EVERY: Final = 60.0
LAST_BOOKMARK: Final = 2.0  # before the end
_OPENINGS: Final[Mapping[Change, bytes]] = {
    "ADDED": b'{"type":"ADDED","object":',
    "MODIFIED": b'{"type":"MODIFIED","object":',
    "DELETED": b'{"type":"DELETED","object":',
}
_CLOSING: Final = b"}\n"
# Events whose lines are kept for others who are as far. Who is further behind is hardly followed by others.
_SHARED: Final = 64


class Watch:
    """One open watch. `wake` is called when there may be bytes to take, `on_end` once at its end."""

    def __init__(
        self, state: ServerState, route: Route, options: ListQuery, viewer: Viewer, *, gzip: bool
    ) -> None:
        self.state = state
        self.storage = route.served.storage
        self.viewer = viewer
        self.called_later = False  # whether the driver calls the webhooks that convert its objects
        self.ended = False
        self.gzip = gzip
        self.wake: Callable[[], None] | None = None
        self.on_end: Callable[[Watch], None] | None = None
        self.namespace = route.namespace
        self._matches = matcher(route.served, options)
        self._shards = read_shards(options.shards) if options.shards else None
        self._plain = viewer.view == "object" and route.served.as_stored
        self._simple = self._plain and self._matches is None and self._shards is None
        self._generation = self.storage.generation
        self._pending: list[bytes] = []
        self._after = 0  # events up to this version are to be left out
        self._at = self.storage.end
        self._passed = 0  # the version of the last event that was read
        now = state.clock.time
        timeout = options.timeout or MIN_TIMEOUT + state.rng.randrange(MIN_TIMEOUT)
        self._deadline = now + max(timeout, 0)
        self._bookmarks = options.bookmarks and state.modes.bookmarks
        self._next_bookmark = min(now + BOOKMARK_EVERY, self._deadline - LAST_BOOKMARK)
        if self._next_bookmark <= now:
            self._next_bookmark = self._deadline
        self._opening = True  # by a request, which can be repeated
        try:
            self._open(route, options)
        except Rejection as refused:
            if not route.served.converts:
                raise
            self._give_up(refused)
        self._opening = False

    @property
    def due(self) -> float | None:
        """The next time at which something happens without a write; None once the watch has ended."""
        if self.ended:
            return None
        return min(self._next_bookmark, self._deadline) if self._bookmarks else self._deadline

    def tick(self) -> None:
        """Do what is due: a bookmark, or the end."""
        if not self.ended:
            self._read()
        now = self.state.clock.time
        if self.ended:
            return  # a bookmark now would name versions whose events were compacted before they were sent
        if now >= self._deadline:
            self._end()
        elif self._bookmarks and now >= self._next_bookmark:
            # A server that was restored to an older version sends nothing to a watch at a later one.
            if self.state.reached >= self._after:
                self._bookmark({})
            following = self._next_bookmark + BOOKMARK_EVERY
            last = self._deadline - LAST_BOOKMARK
            self._next_bookmark = following if following < last else last if now < last else self._deadline

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        if not self.ended:
            self._read()
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
        """End at once, without an error, as a server does to slow watchers, on a new schema, at shutdown."""
        self._end()

    def fail(self, status: dict[str, Any]) -> None:
        """Send the reason in an ERROR event, and end."""
        self._read()
        self._pending.append(error_line(status))
        self._end()

    def _give_up(self, refused: Rejection) -> None:
        """End a watch whose next object cannot be converted.

        At its beginning that is an error. Later the cache of a server ends, and all watches with it.
        """
        if self._opening or not self.state.modes.watch_cache:
            why: str = refused.status["message"]
            status = failure(500, f"Internal error occurred: {why}", {"causes": [{"message": why}]})
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
            self._start(route, options)
        elif version:
            self._after = version
            self._at = self.storage.since(version)
            self._read()

    def _start(self, route: Route, options: ListQuery) -> None:
        """Send the initial events: all objects, in the order of a list, and the bookmark at their end."""
        whole = msgspec.structs.replace(options, limit=0, token="", version="", match="")
        listed = list_objects(self.state, route, whole)
        self._at = self.storage.since(listed.version)
        self._after = listed.version
        for stored in listed.objects:
            self._pending.append(self._line(b"ADDED", stored.data, stored.version))
        if not (options.initial_events and self._bookmarks):
            return
        mark = self.state.modes.end_mark
        if mark != "missing":
            self._bookmark(
                {END_MARK: "false" if mark == "false" else "true"}, without_version=mark == "without-version"
            )

    def _bookmark(self, annotations: dict[str, str], *, without_version: bool = False) -> None:
        # What was sent before a cache began to lag stays sent: no bookmark names an older version.
        reached = max(self.state.reached, self._after, self._passed)
        version = "" if without_version else str(reached)
        shown = self.viewer.bookmark(version, annotations, old=self.state.modes.old_bookmarks)
        self._pending.append(b'{"type":"BOOKMARK","object":%s}\n' % shown)

    def _read(self) -> None:
        """Read the next events of the storage."""
        storage = self.storage
        if storage.generation != self._generation:
            self._end()  # after what has happened until now
        if self._at < storage.first:
            self._end()
            return
        start = self._at - storage.first
        events = storage.events
        if start == len(events):
            return
        served = self.viewer.served
        if not served.converts or self._opening:
            if (
                self._simple
                and not (served.converts or self.state.lag)
                and events[start].version > self._after
            ):
                self._share_lines(start)
            else:
                self._read_on(events[start:] if start else events)
            return
        try:
            with (
                served.following(called_later=self.called_later),
                served.reading(cached=self.state.modes.watch_cache),
            ):
                self._read_on(events[start:])
        except Rejection as refused:
            self._give_up(refused)

    def _share_lines(self, start: int) -> None:
        """Read on with all others who follow the same events and see all of them as they are stored."""
        storage, key = self.storage, (self._at, self.namespace)
        lines = storage.lines.get(key)
        if lines is None:
            events = storage.events[start:]
            lines = _joined(events, self.namespace)
            if len(events) <= _SHARED:
                storage.lines[key] = lines
        if lines:
            self._pending.append(lines)
        self._at, self._passed = storage.end, storage.events[-1].version

    def _read_on(self, events: list[StoredEvent]) -> None:
        reached, pending, served = self.state.reached, self._pending, self.viewer.served
        if served.converts:
            served.prepare(event.stored.data for event in events if self._concerns(event))
        for event in events:
            if event.stored.version > reached:
                break
            if not self._concerns(event):
                pass
            elif self._simple:
                # Not joined here: the object is copied once, when it is taken.
                pending += (_OPENINGS[event.change], event.stored.data, _CLOSING)
            elif line := self._selected(event):
                pending.append(line)
            self._at += 1
            self._passed = event.stored.version

    def _concerns(self, event: StoredEvent) -> bool:
        stored = event.stored
        return stored.version > self._after and (not self.namespace or stored.namespace == self.namespace)

    def _selected(self, event: StoredEvent) -> bytes:
        """Return how an event looks through a selector: objects enter and leave the selection."""
        is_in = event.change != "DELETED" and self._holds(event.stored)
        was_in = event.before is not None and self._holds(event.before)
        if is_in and (was_in or event.change == "ADDED"):
            return self._as_it_is(event)
        if is_in:
            return self._line(b"ADDED", event.stored.data, event.version)
        if not was_in:
            return b""
        if event.change == "DELETED":
            return self._as_it_is(event)
        assert event.before is not None  # it was selected before
        return self._line(b"DELETED", at_version(self.viewer, event.before, event.version), event.version)

    def _as_it_is(self, event: StoredEvent) -> bytes:
        if self._plain:
            return b"%b%b%b" % (_OPENINGS[event.change], event.stored.data, _CLOSING)
        return self._line(event.change.encode(), event.stored.data, event.version)

    def _holds(self, stored: Stored) -> bool:
        return (self._matches is None or self._matches(stored)) and (
            self._shards is None or self._shards.holds(stored)
        )

    def _line(self, change: bytes, data: bytes, version: int) -> bytes:
        shown = self.viewer.watched(data, version, self.state.clock.time)
        return b'{"type":"%s","object":%s}\n' % (change, shown)


def open_watch(state: ServerState, route: Route, options: ListQuery, viewer: Viewer, *, gzip: bool) -> Watch:
    """Open a watch; or refuse it in the form that this server has for it."""
    check_fields(route.served, options.fields)
    if read_version(options.version or "0") is None:
        raise unexplained(f"resourceVersion: {invalid_version(options.version)}")
    try:
        return Watch(state, route, options, viewer, gzip=gzip)
    except VersionExpired:
        status = too_old(state, route, options.version)
        if state.modes.gone != "in-stream":
            raise Rejection(status) from None
    fresh = msgspec.structs.replace(options, version="", initial_events=False)
    watch = Watch(state, route, fresh, viewer, gzip=gzip)
    watch.fail(status)
    return watch


def too_old(state: ServerState, route: Route, version: str) -> dict[str, Any]:
    """Return the Status of a watch that begins outside the window."""
    storage = route.served.storage
    oldest = max(storage.compacted, storage.events[0].version - 1) if storage.events else storage.compacted
    message = f"too old resource version: {version} ({oldest})"
    if not state.modes.watch_cache:
        message = "The resourceVersion for the provided watch is too old."
    return failure(410, message, reason="Gone" if state.modes.gone == "http-gone" else "Expired")


def _joined(events: list[StoredEvent], namespace: str) -> bytes:
    """Return the lines of those events that concern a namespace, or all."""
    parts: list[bytes] = []
    for event in events:
        stored = event.stored
        if not namespace or stored.namespace == namespace:
            parts += (_OPENINGS[event.change], stored.data, _CLOSING)
    return b"".join(parts)


def error_line(status: dict[str, Any]) -> bytes:
    """Return an ERROR event."""
    return b'{"type":"ERROR","object":%s}\n' % msgspec.json.encode(status)


def at_version(viewer: Viewer, stored: Stored, version: int) -> bytes:
    """Return the content of an object with another version, as it would be stored."""
    obj: dict[str, Any] = msgspec.json.decode(stored.data)
    obj["metadata"]["resourceVersion"] = str(version)
    return viewer.served.again(obj)
