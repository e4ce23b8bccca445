"""The states, events and actions of the resync machine, and the values in them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..wire import Outcome
from . import pager
from ._resync_pace import Backoff
from .pager import Abandon, Discard, Failed, Listed, Replace, SendList, Stage, Started

# Shorter watches would cost the server requests for nothing; Go's client has the same minimum of five
# minutes.
MIN_WATCH: Final = 300


class Settings(Struct, frozen=True, kw_only=True, gc=False):
    """The settings of a cache.

    `initial_version` is the version of the first list. "0" reads the server's cache, which is cheap even for
    ten thousand clients, and the watch then catches up. "" reads the latest state, for a program that must
    not begin with an old snapshot. A streaming list always has the latest state.
    With `page_size` 0 the machine chooses the size. Watches are requested for `watch_seconds` to twice that
    time, so that clients do not return simultaneously. With `follow` the machine never lists: it continues
    from its initial version, and ends when that version has expired.
    """

    streaming: bool = True
    initial_version: Literal["0", ""] = "0"
    page_size: int = 0
    watch_seconds: int = MIN_WATCH
    backoff: Backoff = Backoff()
    follow: bool = False


class Endpoint(Struct, frozen=True, kw_only=True, gc=False):
    """The observed abilities of a server for one resource. The next machine for it may begin with them.

    `streaming` is False after streaming lists were refused, or have ended early too often; `missing_ends`
    counts the early ends. `paged` is True if a list at version "0" came in pages, so the server has no cache
    for it. `bookmarks` is True after the first bookmark, and False if two consecutive watches have been
    silent for too long without any earlier bookmark.
    """

    streaming: bool = True
    missing_ends: int = 0
    paged: bool = False
    bookmarks: bool | None = None


class SyncFailure(Struct, frozen=True, gc=False):
    """A failure: its time, the part that failed (`source`), and the reason as `text`."""

    time: float
    source: Literal["list", "watch", "transport", "version"]
    text: str
    outcome: Outcome | None = None


class SyncContext(Struct, frozen=True, gc=False):
    """The data of every state.

    `version` is the version of the snapshot that readers see, "" before the first one. `received_at` is the
    time of the last byte. `failures` counts failures without progress between them, `mute_watches`
    consecutive silent watches, including the open watch. `bucket` is the time at which the bucket of requests
    is full.
    """

    settings: Settings
    endpoint: Endpoint
    version: str = ""
    received_at: float | None = None
    failures: int = 0
    mute_watches: int = 0
    bucket: float = 0.0
    failure: SyncFailure | None = None


class Idle(Struct, frozen=True, gc=False):
    """Nothing is requested: not started, or paused."""

    context: SyncContext


class Asking(Struct, frozen=True, gc=False):
    """A streaming list has been requested, at this version or newer."""

    context: SyncContext
    version: str


class Streaming(Struct, frozen=True, gc=False):
    """A streaming list is arriving; its initial-events-end bookmark has not come yet."""

    context: SyncContext
    version: str
    opened_at: float
    count: int = 0


class Lagging(Struct, frozen=True, gc=False):
    """A streaming list has had live events since `live_since`, and still no initial-events-end bookmark."""

    context: SyncContext
    version: str
    opened_at: float
    live_since: float
    count: int


class Listing(Struct, frozen=True, gc=False):
    """A page has been requested: `paging` is the pager's state.

    `count` objects have arrived, `previous_count` of them on earlier pages.
    """

    context: SyncContext
    paging: pager.First | pager.Following | pager.Whole
    count: int = 0
    previous_count: int = 0


class Opening(Struct, frozen=True, gc=False):
    """A watch has been requested, from the version of the snapshot on."""

    context: SyncContext


class Watching(Struct, frozen=True, gc=False):
    """A watch is open, since the time `opened_at`. It was requested from `start_version` on."""

    context: SyncContext
    start_version: str
    opened_at: float


class Ended(Struct, frozen=True, gc=False):
    """The machine was stopped, or cannot follow without a list. It accepts only `Stopped`."""

    context: SyncContext


State: TypeAlias = Idle | Asking | Streaming | Lagging | Listing | Opening | Watching | Ended


class Opened(Struct, frozen=True, gc=False):
    """The server has responded to a watch with 2xx."""


class Received(Struct, frozen=True, gc=False):
    """A part of a response has arrived. `digest` summarizes the events of a chunk in this form.

    `count` is the number of events or objects, and `version` the version of the last of them, or "".
    `live`: at least one event is not an Added. `bookmark`: there is a bookmark. `initial_events_end`: the
    initial-events-end bookmark is the last event. `lost`: the object or version of an event is unknown.
    """

    count: int
    version: str = ""
    live: bool = False
    bookmark: bool = False
    initial_events_end: bool = False
    lost: bool = False


class Closed(Struct, frozen=True, gc=False):
    """A watch has ended regularly."""


class Refreshed(Struct, frozen=True, gc=False):
    """The program has requested a relist. The snapshot remains unchanged until then."""


class Paused(Struct, frozen=True, gc=False):
    """The program has paused; `Started` continues from here."""


class Stopped(Struct, frozen=True, gc=False):
    """The program has stopped following."""


Event: TypeAlias = Started | Opened | Received | Listed | Closed | Failed | Refreshed | Paused | Stopped


class SendWatch(Struct, frozen=True, kw_only=True, gc=False):
    """Request a watch with bookmarks, at a time between `earliest` and `latest`.

    `initial` requests a streaming list: ``sendInitialEvents``, with the match that it needs. The server is to
    end the watch after a number of seconds drawn from `seconds`, and the response may take `grace` longer.
    After `idle` seconds without an event, even if bytes arrive, the driver closes it and reports
    `Failed(TimedOut(…))`; with None, only the limit of the whole response applies.
    """

    earliest: float
    latest: float
    version: str
    initial: bool
    seconds: tuple[int, int]
    idle: float | None
    grace: float = 30.0

    @property
    def match(self) -> str:
        """The ``resourceVersionMatch``: a streaming list must have one, a watch must not."""
        return "NotOlderThan" if self.initial else ""


class Update(Struct, frozen=True, gc=False):
    """Update the snapshot with the events that have just arrived, if they are newer than `after`."""

    after: str = ""


class Close(Struct, frozen=True, gc=False):
    """Close the open response, and cancel the request that waits for its time."""


class Report(Struct, frozen=True, gc=False):
    """Report this failure in a log and a metric."""

    failure: SyncFailure


Action: TypeAlias = SendList | SendWatch | Stage | Update | Replace | Discard | Close | Report | Abandon
