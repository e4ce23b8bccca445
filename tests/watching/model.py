"""A small model of a server for the model test: a history of versions, compaction, lag, and deviations."""

from __future__ import annotations

from collections.abc import Sequence

from driving import Event, Page, added, book, bookmark, deleted, end_bookmark, modified
from msgspec import Struct

import kubeproto as kp
from kubeproto.watching.resync import SendList, SendWatch
from kubeproto.wire import Expired, Outcome, TooLarge, Unsupported

GONE = Expired("too old resource version", 410)
AHEAD = TooLarge("Too large resource version", 504, 1.0)
OLD_SERVER = Unsupported("sendInitialEvents: Forbidden", 422)

Snapshot = dict[str, int]  # names and versions


class Write(Struct, frozen=True):
    """An entry of the history. A write without a name is of another kind, and only advances the version."""

    version: int
    name: str | None = None
    deleted: bool = False


class Server:
    """A resource of a server, with settings for its deviations."""

    def __init__(self) -> None:
        self.history: list[Write] = [Write(1)]
        self.compacted_version = 0  # versions up to this version are compacted
        self.visible = 1  # the version that the watch cache has reached
        self.streaming = True
        self.sends_end_bookmarks = True
        self.page_size = 500
        self.tokens: dict[str, tuple[int, int]] = {}

    @property
    def latest(self) -> int:
        return self.history[-1].version

    def write(self, name: str | None, *, is_deletion: bool = False, lag: bool = False) -> None:
        self.history.append(Write(self.latest + 1, name, is_deletion))
        if not lag:
            self.visible = self.latest

    def snapshot(self, version: int) -> Snapshot:
        """Return the objects that existed at a version."""
        snapshot: Snapshot = {}
        for write in self.history:
            if write.version > version:
                break
            if write.name is not None:
                snapshot.pop(write.name, None)
                if not write.deleted:
                    snapshot[write.name] = write.version
        return snapshot

    def since(self, version: int) -> list[Event]:
        """Return the events after a version, up to the version of the watch cache."""
        events: list[Event] = []
        for write in self.history:
            if version < write.version <= self.visible and write.name is not None:
                existed = write.name in self.snapshot(write.version - 1)
                make = deleted if write.deleted else modified if existed else added
                events.append(make(write.name, write.version))
        return events

    def list(self, request: SendList) -> Page | Outcome:
        if request.token:
            version, start = self.tokens.pop(request.token)
            if version < self.compacted_version:
                return GONE
        else:
            if request.version.isdecimal() and int(request.version) > self.visible:
                return AHEAD
            if not request.version:
                self.visible = self.latest  # a consistent list waits for the cache
            version, start = self.visible, 0
        limit = min(request.limit or 500, self.page_size)
        items = [book(name, v) for name, v in self.snapshot(version).items()]
        page = items[start : start + limit]
        token = ""
        if start + limit < len(items):
            token = f"{version}-{start + limit}"
            self.tokens[token] = (version, start + limit)
        return Page(version, page, token)

    def open(self, request: SendWatch) -> Stream | Outcome:
        """Return a stream, or the refusal."""
        if not request.initial:
            start = int(request.version)
            return GONE if start < self.compacted_version else Stream(self, start, [])
        if not self.streaming:
            return OLD_SERVER
        if request.version and int(request.version) > self.visible:
            return AHEAD
        if not request.version:
            self.visible = self.latest
        initial = [added(name, version) for name, version in self.snapshot(self.visible).items()]
        return Stream(
            self,
            self.visible,
            [*initial, end_bookmark(self.visible)] if self.sends_end_bookmarks else initial,
        )


class Stream:
    """A watch that is open at the server."""

    def __init__(self, server: Server, version: int, waiting: Sequence[Event]) -> None:
        self.server = server
        self.version = version
        self.waiting = list(waiting)

    def read(self, maximum: int) -> list[Event]:
        """Return the next events, at most `maximum`."""
        self.waiting += self.server.since(self.version)
        self.version = max(self.version, self.server.visible)
        events, self.waiting = self.waiting[:maximum], self.waiting[maximum:]
        return events

    def bookmark(self) -> list[Event]:
        return [] if self.waiting else [bookmark(self.version)]


def unreadable_event() -> kp.Malformed:
    """Return an event without readable metadata."""
    return kp.Malformed(None, ValueError("garbage"), b"{}")
